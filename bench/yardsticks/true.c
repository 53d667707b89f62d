/* What an empty C program costs, linked statically as skiffd is. */
int main(void) {
  return 0;
}
