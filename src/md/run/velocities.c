/* As gmx grompp generates velocities: each component Gaussian of variance kT/m; all scaled by one
 * factor, so that the kinetic energy is 3/2 N kT; then the motion of the centre of mass is taken
 * out. Constraints are not looked at here: where a run starts (continuation = no) it takes the
 * velocities along constraints out, with the degrees of freedom that they stand for, so the
 * temperature remains gen-temp on average, with the scatter that a canonical ensemble has.
 *
 * Random numbers go by atom (motion/random.h): any grid starts from the same velocities.
 */
#include "md/run/velocities.h"

#include "md/core/units.h"
#include "md/core/vec.h"
#include "md/motion/random.h"

/* Calls back with every atom of the system in order. */
typedef void atom_visit(void *arg, int64_t atom, double mass);

static void visit_atoms(const md_topology *topology, atom_visit *visit, void *arg)
{
    for (int b = 0; b < topology->n_molblocks; b++) {
        const md_molblock *block = &topology->molblock[b];
        const md_moltype *kind = &topology->moltype[block->moltype];
        int64_t atom = block->first_atom;
        for (int m = 0; m < block->count; m++)
            for (int i = 0; i < kind->n_atoms; i++, atom++) visit(arg, atom, kind->atom[i].mass);
    }
}

typedef struct generator {
    double (*v)[3];
    double kt;
    int64_t seed;
    double twice_ekin, momentum[3], mass;
} generator;

static void draw(void *arg, int64_t atom, double mass)
{
    generator *g = arg;
    md_random random = md_random_open(g->seed, MD_RANDOM_VELOCITIES, atom, 0);
    double width = sqrt(g->kt / mass), *v = g->v[atom];
    for (int k = 0; k < 3; k++) v[k] = width * md_random_gaussian(&random);
    g->twice_ekin += mass * vec_norm2(v);
    for (int k = 0; k < 3; k++) g->momentum[k] += mass * v[k];
    g->mass += mass;
}

void md_velocities_generate(const md_topology *topology, double temperature, int64_t seed,
                            md_state *state)
{
    generator g = {.v = state->v, .kt = MD_BOLTZ * temperature, .seed = seed};
    visit_atoms(topology, draw, &g);
    double wanted = 3 * (double)topology->n_atoms * g.kt;
    double scale = g.twice_ekin > 0 ? sqrt(wanted / g.twice_ekin) : 0;
    for (int64_t i = 0; i < state->n_atoms; i++)
        for (int k = 0; k < 3; k++)
            state->v[i][k] = scale * (state->v[i][k] - g.momentum[k] / g.mass);
    state->has_velocities = true;
}

static void add_energy(void *arg, int64_t atom, double mass)
{
    generator *g = arg;
    g->twice_ekin += mass * vec_norm2(g->v[atom]);
}

double md_velocities_temperature(const md_topology *topology, const md_state *state, double n_dof)
{
    generator g = {.v = state->v};
    if (!state->has_velocities || n_dof <= 0) return 0;
    visit_atoms(topology, add_energy, &g);
    return g.twice_ekin / (n_dof * MD_BOLTZ);
}
