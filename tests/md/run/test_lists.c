/* The choice of list lengths: raised where that is cheaper, never lowered, never where the user has
 * said so or the box has no room; radii are those of the buffer for the chosen lengths, so the
 * tolerance holds whatever was chosen; the same inputs give the same choice.
 *
 * What this cannot catch: whether the model of costs is right. That is measured, see docs/speed.md.
 */
#include "runs.h"

#include "md/pairs/buffer.h"
#include "md/run/lists.h"
#include "md/run/setup.h"

static md_system set_up(const char *name, const char *mdp, int nstlist, const int dd[3])
{
    run_way way = {.grid = {dd[0], dd[1], dd[2]}, .scheme = MD_SCHEME_RETURN};
    md_run_options options = run_options(name, reference_path("%s", mdp), &way);
    options.nstlist = nstlist;
    md_system system;
    CHECK_OK(md_setup(&options, &system));
    return system;
}

static double buffer(const md_system *system, int lifetime, double share)
{
    double radius;
    md_params params = system->params;
    params.verlet_buffer_tolerance *= share;
    CHECK_OK(md_verlet_buffer(system->topology, &system->state.box, &params, system->temperature,
                              lifetime, &radius));
    return radius;
}

/* Both radii belong to the lengths they are used for. */
static void check_radii(const md_system *system)
{
    if (system->nstprune == 0) {
        CHECK(system->rlist == buffer(system, system->nstlist, 1));
        return;
    }
    CHECK(MD_LISTS_SHARE > 0 && MD_LISTS_INNER_SHARE > 0);
    CHECK(MD_LISTS_SHARE + MD_LISTS_INNER_SHARE <= 1);
    CHECK(system->nstprune < system->nstlist && system->rprune < system->rlist);
    CHECK(system->rlist == buffer(system, system->nstlist, MD_LISTS_SHARE));
    CHECK(system->rprune == buffer(system, system->nstprune, MD_LISTS_INNER_SHARE));
}

static void check_raised(void)
{
    const int one[3] = {1, 1, 1};
    md_system a = set_up("grappa-like/0003", "grappa-like/rf.mdp", 0, one);
    CHECK(a.params.nstlist == 10);
    /* the flat minimum for water, docs/speed.md */
    CHECK(a.nstlist >= 20 && a.nstlist <= 30 && a.nstprune == 7);
    CHECK(strstr(a.notes, "nstlist raised from 10"));
    check_radii(&a);
    md_system b = set_up("grappa-like/0003", "grappa-like/rf.mdp", 0, one);
    CHECK(a.nstlist == b.nstlist && a.nstprune == b.nstprune);
    CHECK(a.rlist == b.rlist && a.rprune == b.rprune);
    md_setup_destroy(&b);
    /* what was chosen is not raised once more: the choice is of the system, not of where it starts
     */
    md_lists again;
    CHECK_OK(md_lists_choose(a.topology, &a.state.box, &a.params, a.temperature, a.nstlist, true,
                             MD_LISTS_CPU, &again));
    CHECK(again.nstlist == a.nstlist && again.nstprune == a.nstprune);
    /* nor is a long one lowered */
    CHECK_OK(md_lists_choose(a.topology, &a.state.box, &a.params, a.temperature, 100, true,
                             MD_LISTS_CPU, &again));
    CHECK(again.nstlist == 100);
    md_setup_destroy(&a);
}

static void check_kept(void)
{
    const int one[3] = {1, 1, 1};
    md_system given = set_up("grappa-like/0003", "grappa-like/rf.mdp", 10, one);
    CHECK(given.nstlist == 10 && !strstr(given.notes, "raised"));
    check_radii(&given);
    md_setup_destroy(&given);
    md_system fixed = set_up("grappa-like/0003", "reference/grappa-like/0003/traj_rf.mdp", 0, one);
    CHECK(fixed.params.verlet_buffer_tolerance < 0);
    CHECK(fixed.nstlist == fixed.params.nstlist && fixed.nstprune == 0);
    CHECK(fixed.rlist == fixed.params.rlist && !strstr(fixed.notes, "raised"));
    md_setup_destroy(&fixed);
}

/* In a box that just holds the lists asked for, and with domains that just hold their ghosts. */
static void check_no_room(void)
{
    const int one[3] = {1, 1, 1};
    md_system a = set_up("grappa-like/0003", "grappa-like/rf.mdp", 10, one);
    md_box box = a.state.box;
    double shrink = 2.01 * a.rlist / box.m[0][0];
    for (int k = 0; k < 3; k++) box.m[k][k] *= shrink;
    md_lists lists;
    CHECK_OK(md_lists_choose(a.topology, &box, &a.params, a.temperature, 10, true, MD_LISTS_CPU,
                             &lists));
    CHECK(lists.nstlist == 10);
    md_setup_destroy(&a);

    /* slices that take as many pulses as there may be */
    int n = 1;
    for (; n < 100; n++) {
        run_way way = {.grid = {n, 1, 1}, .scheme = MD_SCHEME_RETURN};
        md_run_options options =
            run_options("grappa-like/0003", reference_path("grappa-like/rf.mdp"), &way);
        options.nstlist = 10;
        if (md_setup(&options, &a) != SUNDOG_OK) break;
        md_setup_destroy(&a);
    }
    const int most[3] = {n - 1, 1, 1};
    CHECK(n > 2);
    a = set_up("grappa-like/0003", "grappa-like/rf.mdp", 0, most);
    CHECK(a.nstlist == 10 && !strstr(a.notes, "raised"));
    check_radii(&a);
    md_setup_destroy(&a);
}

/* Ghosts that stay right for as long as a list are those within the list's radius: they take the
 * same part of the tolerance. */
static void check_ghosts(void)
{
    const int one[3] = {1, 1, 1};
    md_system a = set_up("grappa-like/0012", "grappa-like/rf.mdp", 0, one);
    md_lists lists;
    double radius, later;
    CHECK_OK(md_lists_choose(a.topology, &a.state.box, &a.params, a.temperature, 20, true,
                             MD_LISTS_GPU, &lists));
    CHECK(lists.nstprune > 0);
    CHECK_OK(md_lists_ghost_radius(a.topology, &a.state.box, &a.params, a.temperature,
                                   lists.nstlist, &radius));
    CHECK(radius == lists.rlist);
    CHECK_OK(md_lists_ghost_radius(a.topology, &a.state.box, &a.params, a.temperature,
                                   2 * lists.nstlist, &later));
    CHECK(later > radius);
    md_setup_destroy(&a);
}

int main(void)
{
    check_ghosts();
    check_raised();
    check_kept();
    check_no_room();
    return 0;
}
