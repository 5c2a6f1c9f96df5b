/* How much memory this process may still take. */
#ifndef BASE_MEMORY_H
#define BASE_MEMORY_H

typedef struct base_memory {
    double available;   /* bytes; INFINITY: not known */
    const char *set_by; /* what sets it: "this machine", ... */
} base_memory;

/* The least of what the machine has, what control groups (containers, batch systems) allow, and
 * what `ulimit -v` allows. Linux; elsewhere not known. */
base_memory base_memory_available(void);
#endif
