#pragma once
/* Time and percentiles for the yardsticks. */

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static inline double now_us(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

static inline int compare_doubles(const void* left, const void* right) {
  const double a = *(const double*)left, b = *(const double*)right;
  return (a > b) - (a < b);
}

/* Sorts `values`; `fraction` in 0..1. 0 when there are none. */
static inline double percentile(double* values, size_t count, double fraction) {
  if (count == 0) {
    return 0;
  }
  qsort(values, count, sizeof *values, compare_doubles);
  const size_t index = (size_t)(fraction * (double)(count - 1) + 0.5);
  return values[index];
}

static inline void stop(const char* what) {
  perror(what);
  exit(1);
}

/* Returns the value after `name` in argv, up to "--"; `fallback` when it is absent. */
static inline const char* option(char** argv, const char* name, const char* fallback) {
  for (char** at = argv + 1; *at != NULL && strcmp(*at, "--") != 0; ++at) {
    if (strcmp(*at, name) == 0 && at[1] != NULL) {
      return at[1];
    }
  }
  return fallback;
}

/* Returns the arguments after "--". */
static inline char** command_of(char** argv) {
  for (char** at = argv; *at != NULL; ++at) {
    if (strcmp(*at, "--") == 0 && at[1] != NULL) {
      return at + 1;
    }
  }
  fprintf(stderr, "%s: a command is missing: ... -- PROGRAM ARGUMENT...\n", argv[0]);
  exit(2);
}
