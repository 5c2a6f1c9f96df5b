/* Forces in slots: a kernel that finds forces on several rows at a time writes each to a slot of
 * its own, and who needs the force of a row adds the row's slots in a fixed order
 * (force_slots.cuh). Nothing is zeroed or added atomically, and results repeat bit for bit. */
#ifndef MD_FORCE_SLOTS_H
#define MD_FORCE_SLOTS_H

/* Device pointers. Slots of row r are d_slot[k], k in [d_start[r], d_start[r + 1]): who writes them
 * looks up where they go, so that who waits for them reads one run. d_start is NULL when there are
 * none at all. */
typedef struct md_force_slots {
    const float (*d_slot)[4];           /* kJ/mol/nm; the fourth is not used */
    const int *d_start;
} md_force_slots;
#endif
