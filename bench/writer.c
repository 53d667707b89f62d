/* A command that prints a known pattern (pattern.h) and nothing else:
 *   writer bytes|text N     N bytes, 256 KiB a write
 *   writer lines|each N     N short lines, 4 KiB a write as stdio does it, or one write a line
 *   writer flood            bytes without an end
 * A third argument may be an offset: one bit of the byte there is flipped, to check that the reader notices. Or
 * `timed`: the total time in microseconds goes to stderr; it is the cost of the reader for the writer. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "pattern.h"
#include "yardsticks/measure.h"

static char block[kPatternBlock];

static void print(const char* data, size_t size) {
  while (size > 0) {
    const ssize_t written = write(1, data, size);
    if (written < 0) {
      perror("writer: write");
      exit(1);
    }
    data += written;
    size -= (size_t)written;
  }
}

int main(int argc, char** argv) {
  const char* what = argc > 1 ? argv[1] : "";
  const int flood = strcmp(what, "flood") == 0;
  const int each = strcmp(what, "each") == 0;
  const int lines = each || strcmp(what, "lines") == 0;
  const int text = strcmp(what, "text") == 0;
  const int timed = argc == 4 && strcmp(argv[3], "timed") == 0;
  if (argc > 4 || (!flood && argc < 3) || (!flood && !lines && !text && strcmp(what, "bytes") != 0)) {
    fprintf(stderr, "usage: writer bytes|text|lines|each N [CORRUPT_AT|timed] | writer flood\n");
    return 2;
  }
  const Pattern pattern = lines ? kPatternShort : text ? kPatternText : kPatternBytes;
  const size_t step = each ? kPatternLine : lines ? 4096 : kPatternBlock;
  const size_t whole = pattern_block_size(pattern);
  const uint64_t corrupt = argc == 4 && !timed ? strtoull(argv[3], NULL, 10) : UINT64_MAX;
  uint64_t left = flood ? UINT64_MAX : strtoull(argv[2], NULL, 10) * (lines ? kPatternLine : 1);

  pattern_fill(pattern, block);
  const double before = now_us();
  for (uint64_t number = 0; left > 0; ++number) {
    pattern_stamp(pattern, number, block);
    const size_t size = left < whole ? (size_t)left : whole;
    const uint64_t start = number * whole;
    if (corrupt >= start && corrupt - start < size) {
      block[corrupt - start] ^= 1;
    }
    for (size_t at = 0; at < size; at += step) {
      print(block + at, size - at < step ? size - at : step);
    }
    left -= size;
  }
  if (timed) {
    fprintf(stderr, "%.0f", now_us() - before);
  }
  return 0;
}
