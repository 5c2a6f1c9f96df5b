/* One file a command. argv[0] is the command's name. Exit code: 0, 1 failed, 2 usage. */
#ifndef COMMANDS_H
#define COMMANDS_H
#include <stdio.h>

int command_run(int argc, char **argv);
int command_info(int argc, char **argv);
int command_bench(int argc, char **argv);
int command_plot(int argc, char **argv);

void info_print_gpus(void);
int command_bench_md(int argc, char **argv);
/* stdout for NULL; NULL, with a line on stderr, if it cannot be opened. */
FILE *bench_open_json(const char *path);
#endif
