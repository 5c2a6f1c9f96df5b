/* One domain's steps on its GPU, resident: positions, velocities and forces stay there, the host
 * only says what each step has to do and reads sums of those steps that report some.
 *
 *      rebuild    rows of the domain after a repartition: everything that depends on which rows
 *                 there are is made and uploaded. The only time when memory is allocated
 *      renew      in the place of a repartition, where the ghosts there are stay right: nothing
 *                 leaves the GPU
 *      enqueue    a piece: up to MD_GPU_PIECE steps in a row, one graph launch. Returns at once
 *      finish     waits for the oldest piece; its sums and what went wrong in it
 *      make_room  for lists that overflowed in it
 *
 * A step s, as in md/run/step.h; x(s), v(s - 1/2) at its start:
 *
 *      MD_GPU_SEARCH       outer and inner pair lists      MD_GPU_FILTER   inner lists alone
 *                          ghosts come (several domains)
 *                          forces f(s); scheme return: ghosts' forces go home
 *      MD_GPU_THERMOSTAT   kinetic energy of v(s - 1/2) in the whole team, scale factors
 *                          v(s + 1/2), x(s + 1), constraints, new rows
 *      MD_GPU_SUMS         energies, virial, kinetic energies of both half steps, to the host
 *      MD_GPU_STILL        centre-of-mass motion of v(s + 1/2) removed
 *
 * Lists of fixed size can overflow when atoms gather; the forces are wrong from then on. Finish
 * says so, rewind goes back to the start of that piece (its x and v are kept until it has been
 * finished), make_room makes room, and the piece is enqueued again: its bits are those of a run
 * that had the room from the beginning.
 *
 * Not in this room: who owns which rows (md/domain), when to do what (md/run).
 */
#ifndef MD_GPU_H
#define MD_GPU_H
#include "md/core/energy.h"
#include "md/core/params.h"
#include "md/core/rows.h"
#include "md/domain/domain.h"
#include "md/force/bonded.h"
#include "md/force/nonbonded.h"
#include "md/force/posres.h"
#include "md/motion/constraints.h"
#include "md/motion/thermostat_device.h"

typedef enum md_gpu_what {
    MD_GPU_SEARCH = 1,
    MD_GPU_FILTER = 2,
    MD_GPU_SUMS = 4,
    MD_GPU_THERMOSTAT = 8,
    MD_GPU_STILL = 16
} md_gpu_what;

enum {
    MD_GPU_PIECE = 64, /* most steps of a piece */
    MD_GPU_AHEAD = 2   /* pieces that may be enqueued and not finished */
};

/* What pointers lead to is shared by all domains and outlives them. */
typedef struct md_gpu_options {
    sundog_team *team; /* its ranks are bound to GPUs */
    int gpu;           /* of this rank */
    int n_sharing;     /* ranks on this GPU */
    const md_topology *topology;
    const md_params *params;
    const md_nonbonded *nonbonded;
    const md_bonded *bonded;
    const md_posres *posres; /* NULL: none */
    md_constrain_options constrain;
    md_scheme scheme;
    double rlist, rinner; /* nm; of outer and inner lists */
    const char *rung;     /* of the exchange; NULL: best */
    sundog_route route;
    bool deterministic;
    int n_temperature, n_com; /* groups; 1 when there is but one */
    md_thermostat_groups thermostat;
    double n_dof[MD_MAX_GROUPS]; /* of temperature groups */
    bool tight_lists; /* room for what a rebuild needed and no more, so that lists overflow: for
                       * tests
                       */
    bool has_com_groups, has_frozen; /* rebuild gets them; a row of com group n_com is of none */
} md_gpu_options;

/* Of one domain at one step; sums over domains are those of the system. All doubles. kJ/mol. */
typedef struct md_gpu_sums {
    md_energy terms;         /* constraint part of the virial included */
    double kinetic[2][3][3]; /* half a step before and after */
    double kinetic_group[MD_MAX_GROUPS][2];
    double deviation_square;               /* of LINCS's distances */
    double thermostat_work[MD_MAX_GROUPS]; /* so far, of the whole team; the same on all domains */
} md_gpu_sums;

typedef struct md_gpu_result {
    int64_t step; /* the first of the piece */
    int n_steps, n_sums;
    const md_gpu_sums *sums; /* [n_sums], in the order of steps; valid until the next enqueue */
    bool overflow;           /* everything else is worth nothing */
    int n_turned, n_failed, fault_row; /* constraints; row: owned, -1: none */
} md_gpu_result;

/* Rows as the host has them after a repartition or constraints at the start. */
typedef struct md_gpu_rows {
    md_domain *domain; /* its plan */
    const md_rows *rows;
    const md_box *box;
    md_constrain *constrain;                      /* rebuilt for these rows */
    const uint8_t *temperature_group, *com_group; /* [n_owned], NULL: all 0 */
    const uint8_t *frozen;                        /* [n_owned] bit k: along axis k; NULL: none */
    const double *thermostat_work;                /* [n_temperature] so far */
    int most_units; /* of a block of the lists, as md_gpu_most_units has it; 0: not known */
} md_gpu_rows;

typedef struct md_gpu md_gpu;

/* False: this program was built without CUDA. */
bool md_gpu_is_built(void);

/* Collective, as are all that follow but finish and the downloads. The calling thread is bound to
 * options->gpu. */
sundog_status md_gpu_create(const md_gpu_options *options, md_gpu **out);
void md_gpu_destroy(md_gpu **gpu); /* accepts NULL */
/* No piece is under way. All that has been allocated before serves again where it suffices. */
sundog_status md_gpu_rebuild(md_gpu *gpu, const md_gpu_rows *rows);
/* Scheme shell; ghosts are all other atoms, or none: blocks of the lists and lists are made anew.
 * One domain: groups go back into the box before, and a rebuild does the same, so that a run that
 * starts here goes on with the same bits. Does not wait. */
sundog_status md_gpu_renew(md_gpu *gpu);
/* what [n_steps]: bits of md_gpu_what, the same on all ranks. Fewer than MD_GPU_AHEAD pieces are
 * under way. */
sundog_status md_gpu_enqueue(md_gpu *gpu, int64_t step, int n_steps, const uint8_t *what);
int md_gpu_n_under_way(const md_gpu *gpu);
sundog_status md_gpu_finish(md_gpu *gpu, md_gpu_result *result);
/* After a finish with overflow on any rank: waits for all that is under way and drops it; x and v
 * are those at the start of the piece that was finished last. */
sundog_status md_gpu_rewind(md_gpu *gpu);
/* After the rewind: room for the lists of the piece that was finished last, which are made by its
 * first step, MD_GPU_SEARCH or MD_GPU_FILTER, or were by the renew before it: 0. Those are made
 * here, too. Then the same piece may be enqueued. *enough false: no room would do, it takes a
 * rebuild on all ranks. */
sundog_status md_gpu_make_room(md_gpu *gpu, unsigned what, bool *enough);
/* How many units a block of the lists may have. Blocks, and so the bits, depend on it: it goes with
 * a checkpoint. */
int md_gpu_most_units(const md_gpu *gpu);
/* No piece is under way: x and v of owned rows to rows (NULL: not wanted); f: of the last step. */
sundog_status md_gpu_download(md_gpu *gpu, double (*x)[3], double (*v)[3], float (*f)[3]);
/* No piece is under way: work of the thermostat so far, [n_temperature]. */
sundog_status md_gpu_thermostat_work(md_gpu *gpu, double *work);
/* No piece is under way: x times factor, v over factor; the box is now `box`. */
sundog_status md_gpu_stretch(md_gpu *gpu, const md_box *box, const double factor[3]);

/* How much there is of a domain, and how dense: what its memory follows from. */
typedef struct md_gpu_size {
    md_scheme scheme;
    double n_owned, n_rows, n_units, n_interactions;
    double density;       /* atoms in nm3 */
    double rlist, rinner; /* nm */
} md_gpu_size;
/* Bytes of its GPU; of a domain without any atoms. Not collective. */
double md_gpu_memory_estimate(const md_gpu_size *size);
double md_gpu_memory_fixed(void);
sundog_status md_gpu_memory_free(int gpu, double *free_bytes, double *all_bytes);

typedef enum md_gpu_part {
    MD_GPU_PART_STEP,
    MD_GPU_PART_GHOSTS,
    MD_GPU_PART_PAIRS,
    MD_GPU_PART_PAIR_SUMS,
    MD_GPU_PART_BONDED,
    MD_GPU_PART_MOVE,
    MD_GPU_PART_SEARCH,
    MD_GPU_PART_FILTER,
    MD_GPU_PART_KINETIC,
    MD_GPU_PART_SNAPSHOT,
    MD_GPU_N_PARTS
} md_gpu_part;
const char *md_gpu_part_name(md_gpu_part part);
/* No piece is under way: what each part takes, us; 0 where it does not exist or cannot be captured.
 * Rows are not those of x afterwards: a rebuild follows, or nothing. */
sundog_status md_gpu_measure(md_gpu *gpu, double us[MD_GPU_N_PARTS]);

/* For the log. */
const char *md_gpu_describe(const md_gpu *gpu);
#endif
