/* The cost of an empty C program, linked statically as skiffd is. */
int main(void) {
  return 0;
}
