package io.election.autoconfigure;

import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import org.springframework.beans.factory.annotation.Qualifier;

/**
 * Qualifies the {@link javax.sql.DataSource} that leader election uses, if there are several or if
 * the election should have its own. It need not be a pool, since the elector keeps its connections,
 * of which there are one or two. From a HikariCP pool the elector takes no connection, but opens its
 * own with all that the pool opens its connections with.
 *
 * <p>While a service moves between MySQL and PostgreSQL there may be one for each product.
 */
@Documented
@Qualifier
@Retention(RetentionPolicy.RUNTIME)
@Target({
  ElementType.FIELD,
  ElementType.METHOD,
  ElementType.PARAMETER,
  ElementType.TYPE,
  ElementType.ANNOTATION_TYPE
})
public @interface ElectionDataSource {}
