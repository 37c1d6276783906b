#include "cli/command_line.h"

int main(int argc, char** argv) { return normfuzz::run_command_line(argc, argv); }
