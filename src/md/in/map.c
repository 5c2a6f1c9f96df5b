#include "md/in/map.h"

#include "base/alloc.h"

#include <string.h>

/* FNV-1a. */
static uint64_t hash_bytes(const unsigned char *key, size_t n)
{
    uint64_t hash = UINT64_C(14695981039346656037);
    for (size_t i = 0; i < n; i++) hash = (hash ^ key[i]) * UINT64_C(1099511628211);
    return hash ^ (hash >> 32);
}

/* The slot that holds the key, or the empty one where it belongs. */
static size_t find_slot(const md_map *map, const void *key, size_t n_key, uint64_t hash)
{
    size_t at = (size_t)hash & (map->n_slots - 1);
    while (map->slot[at]) {
        const md_map_entry *e = &map->entry[map->slot[at] - 1];
        if (e->hash == hash && e->n_key == n_key &&
            (n_key == 0 || memcmp(map->bytes + e->key, key, n_key) == 0))
            return at;
        at = (at + 1) & (map->n_slots - 1);
    }
    return at;
}

int md_map_find(const md_map *map, const void *key, size_t n_key)
{
    if (map->n == 0) return -1;
    size_t at = find_slot(map, key, n_key, hash_bytes(key, n_key));
    return map->slot[at] ? map->entry[map->slot[at] - 1].value : -1;
}

static void grow_slots(md_map *map)
{
    size_t n_slots = map->n_slots ? 2 * map->n_slots : 64;
    base_free(map->slot);
    map->slot = base_alloc_zero(n_slots * sizeof *map->slot);
    map->n_slots = n_slots;
    for (int i = 0; i < map->n; i++) {
        size_t at = (size_t)map->entry[i].hash & (n_slots - 1);
        while (map->slot[at]) at = (at + 1) & (n_slots - 1);
        map->slot[at] = i + 1;
    }
}

void md_map_set(md_map *map, const void *key, size_t n_key, int value)
{
    if (2 * ((size_t)map->n + 1) > map->n_slots) grow_slots(map);
    uint64_t hash = hash_bytes(key, n_key);
    size_t at = find_slot(map, key, n_key, hash);
    if (map->slot[at]) {
        map->entry[map->slot[at] - 1].value = value;
        return;
    }
    BASE_RESERVE(map->entry, map->capacity_entry, map->n + 1);
    BASE_RESERVE(map->bytes, map->capacity_bytes, map->n_bytes + n_key);
    if (n_key > 0) memcpy(map->bytes + map->n_bytes, key, n_key);
    map->entry[map->n] = (md_map_entry){map->n_bytes, n_key, hash, value};
    map->n_bytes += n_key;
    map->slot[at] = ++map->n;
}

void md_map_destroy(md_map *map)
{
    base_free(map->entry);
    base_free(map->bytes);
    base_free(map->slot);
    memset(map, 0, sizeof *map);
}

int md_map_find_name(const md_map *map, const char *name)
{
    return md_map_find(map, name, strlen(name));
}

void md_map_set_name(md_map *map, const char *name, int value)
{
    md_map_set(map, name, strlen(name), value);
}
