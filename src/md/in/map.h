/* Hash map from byte strings (names, tuples of numbers) to int. Keys are copied. */
#ifndef MD_MAP_H
#define MD_MAP_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct md_map_entry {
    size_t key, n_key;                  /* bytes [key, key + n_key) of md_map.bytes */
    uint64_t hash;
    int value;
} md_map_entry;

typedef struct md_map {
    int n;
    md_map_entry *entry;                /* [n], in order of insertion */
    size_t capacity_entry;
    char *bytes;
    size_t n_bytes, capacity_bytes;
    int *slot;                          /* [n_slots], entry + 1, 0 empty; n_slots a power of two */
    size_t n_slots;
} md_map;

/* The value of a key, or -1 (values are never negative). A map of zeros is empty. */
int md_map_find(const md_map *map, const void *key, size_t n_key);
/* Set the value of a key, new or not. */
void md_map_set(md_map *map, const void *key, size_t n_key, int value);
void md_map_destroy(md_map *map);

int md_map_find_name(const md_map *map, const char *name);
void md_map_set_name(md_map *map, const char *name, int value);
#endif
