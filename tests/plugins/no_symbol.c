/* A shared object that is no plug-in. */
int normfuzz_something_else(void);
int normfuzz_something_else(void) { return 1; }
