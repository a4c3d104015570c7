package io.election.mysql.failover;

import java.util.SplittableRandom;

/** Random sets that overlap often. */
final class RandomSets {

  private RandomSets() {}

  static GtidSet draw(SplittableRandom random) {
    return GtidSet.parse(text(random));
  }

  /** A text as people write it: in any order, with overlaps, blanks, capitals and empty parts. */
  static String text(SplittableRandom random) {
    StringBuilder text = new StringBuilder();
    int origins = random.nextInt(4);
    for (int i = 0; i < origins; i++) {
      text.append(i > 0 ? oneOf(random, ",", ",", ",\n", " , ", ",,") : "")
          .append(random.nextInt(1, 4))
          .append(oneOf(
              random,
              "e11fa47-71ca-11e1-9e33-c80aa9429562",
              "E11FA47-71CA-11E1-9E33-C80AA9429562"));
      int intervals = random.nextInt(1, 5);
      for (int k = 0; k < intervals; k++) {
        if (random.nextInt(5) == 0) {
          text.append(colon(random)).append(oneOf(random, "tag_0", "tag_1", "TAG_1"));
        }
        int first = random.nextInt(1, 30);
        text.append(colon(random)).append(oneOf(random, "", "", "", "0")).append(first);
        if (random.nextBoolean()) {
          text.append(oneOf(random, "-", "-", " - ")).append(first + random.nextInt(12));
        }
      }
    }
    return text.toString();
  }

  private static String colon(SplittableRandom random) {
    return oneOf(random, ":", ":", ":", " :", ": ", ":\n");
  }

  private static String oneOf(SplittableRandom random, String... texts) {
    return texts[random.nextInt(texts.length)];
  }
}
