#pragma once
/* The bytes that writer.c prints and that the load generator expects, block by block: each block begins with its own
 * number, so a lost, repeated or misplaced block is detected as surely as a changed byte. */

#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { kPatternBlock = 256 * 1024, kPatternLine = 13, kPatternLines = 4096 };

typedef enum {
  kPatternBytes, /* bytes of every value; not UTF-8 */
  kPatternText,  /* printable lines of 64 bytes, each with a quotation mark and a backslash to escape */
  kPatternShort, /* "line 0000001\n" and so on: 13 bytes each */
  kPatternZero,
} Pattern;

static inline uint64_t pattern_word(uint64_t index) { /* splitmix64 */
  uint64_t word = (index + 1) * 0x9e3779b97f4a7c15u;
  word = (word ^ (word >> 30)) * 0xbf58476d1ce4e5b9u;
  word = (word ^ (word >> 27)) * 0x94d049bb133111ebu;
  return word ^ (word >> 31);
}

static inline size_t pattern_block_size(Pattern pattern) {
  return pattern == kPatternShort ? (size_t)kPatternLine * kPatternLines : (size_t)kPatternBlock;
}

static inline void pattern_digits(char* to, uint64_t value, int digits, unsigned base) {
  while (digits > 0) {
    to[--digits] = "0123456789abcdef"[value % base];
    value /= base;
  }
}

/* Fills in the part that all blocks share. */
static inline void pattern_fill(Pattern pattern, char* block) {
  memset(block, 0, kPatternBlock);
  for (size_t i = 0; pattern == kPatternBytes && i < kPatternBlock; i += 8) {
    const uint64_t word = pattern_word(i);
    memcpy(block + i, &word, 8);
  }
  for (size_t i = 0; pattern == kPatternText && i < kPatternBlock; ++i) {
    block[i] = (char)('a' + pattern_word(i) % 26);
    block[i] = i % 64 == 30 ? '"' : i % 64 == 40 ? '\\' : i % 64 == 63 ? '\n' : block[i];
  }
  for (size_t i = 0; pattern == kPatternShort && i < kPatternLines; ++i) {
    memcpy(block + i * kPatternLine, "line 0000000\n", kPatternLine);
  }
}

/* Fills in the part that is different in block `number`. */
static inline void pattern_stamp(Pattern pattern, uint64_t number, char* block) {
  if (pattern == kPatternBytes) {
    memcpy(block, &number, 8);
  } else if (pattern == kPatternText) {
    pattern_digits(block, number, 16, 16);
  }
  for (size_t i = 0; pattern == kPatternShort && i < kPatternLines; ++i) {
    pattern_digits(block + i * kPatternLine + 5, number * kPatternLines + i + 1, 7, 10);
  }
}
