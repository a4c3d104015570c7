package io.election.playground;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.List;
import org.commonmark.Extension;
import org.commonmark.ext.gfm.tables.TablesExtension;
import org.commonmark.ext.heading.anchor.HeadingAnchorExtension;
import org.commonmark.parser.Parser;
import org.commonmark.renderer.html.HtmlRenderer;
import org.springframework.core.io.ClassPathResource;
import org.springframework.http.MediaType;
import org.springframework.http.ResponseEntity;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.PathVariable;
import org.springframework.web.bind.annotation.RestController;

/** Shows the pages of the documentation to which the log links, without another host. */
@RestController
class DocsController {

  private static final List<Extension> EXTENSIONS =
      List.of(TablesExtension.create(), HeadingAnchorExtension.create());

  private final Parser parser = Parser.builder().extensions(EXTENSIONS).build();
  private final HtmlRenderer renderer =
      HtmlRenderer.builder().extensions(EXTENSIONS).escapeHtml(true).build();

  @GetMapping(path = "/docs/{name:[a-z-]+}.md")
  ResponseEntity<String> page(@PathVariable String name) throws IOException {
    ClassPathResource page = new ClassPathResource("docs/" + name + ".md");
    if (!page.exists()) {
      return ResponseEntity.notFound().build();
    }
    String html = """
        <!DOCTYPE html>
        <html lang="en"><head><meta charset="utf-8"><title>%s</title>
        <meta name="viewport" content="width=device-width, initial-scale=1">
        <link rel="icon" href="data:,"><link rel="stylesheet" href="../playground.css"></head>
        <body class="docs">%s</body></html>
        """.formatted(
            name, renderer.render(parser.parse(page.getContentAsString(StandardCharsets.UTF_8))));
    return ResponseEntity.ok()
        .contentType(new MediaType(MediaType.TEXT_HTML, StandardCharsets.UTF_8))
        .body(html);
  }
}
