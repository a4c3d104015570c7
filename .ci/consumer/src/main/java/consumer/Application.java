package consumer;

import io.election.LeaderOnly;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.SpringBootApplication;

@SpringBootApplication
public class Application {

  private int runs;

  public static void main(String[] arguments) {
    SpringApplication.run(Application.class, arguments);
  }

  @LeaderOnly
  public void work() {
    this.runs++;
  }

  public int runs() {
    return this.runs;
  }
}
