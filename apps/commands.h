/* One file a command. argv[0] is the command's name. Exit code: 0, 1 failed, 2 usage. */
#ifndef COMMANDS_H
#define COMMANDS_H
int command_run(int argc, char **argv);
int command_info(int argc, char **argv);
int command_bench(int argc, char **argv);
int command_plot(int argc, char **argv);

void info_print_gpus(void);
#endif
