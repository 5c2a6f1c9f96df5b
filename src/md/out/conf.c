/* Writer of confout.gro (conf.h).
 *
 * Fixed columns: residue number (5, wraps at 100000), residue name (5), atom name (5), atom number
 * (5, wraps), x 3 * 8.3 nm, v 3 * 8.4 nm/ps. Last line: the box, 3 * 10.5 nm, or 9 numbers
 * v1x v2y v3z v1y v1z v2x v2z v3x v3y when it is not rectangular.
 *
 * Numbers are formatted here rather than by printf: tens of millions of atoms take seconds, not a
 * minute, and a number that does not fit its column is noticed. Readers find the columns by
 * counting, so a wider number would silently shift all that follow.
 */
#include "md/out/conf.h"
#include "base/alloc.h"
#include "md/out/file.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { TEXT_BYTES = 1 << 16, LINE_BYTES = 128 };

/* ---- whole molecules ------------------------------------------------------------------------ */

/* Order in which to place the atoms of a molecule: each after the atom it is bonded to. */
typedef struct bond_tree {
    int *order;  /* [n_atoms] */
    int *parent; /* [n_atoms]; -1: stays where it is */
} bond_tree;

typedef struct bond_lists {
    int *start; /* [n_atoms + 1] */
    int *partner;
} bond_lists;

static const md_kind bond_kinds[] = {MD_BOND, MD_BOND_G96, MD_CONSTRAINT, MD_SETTLE};
enum { N_BOND_KINDS = sizeof bond_kinds / sizeof *bond_kinds };

/* Count (partner NULL) or fill in both ends of every bond; a SETTLE holds two, O-H and O-H. */
static void visit_bonds(const md_moltype *moltype, int *cursor, int *partner)
{
    for (int b = 0; b < N_BOND_KINDS; b++) {
        const md_interactions *list = &moltype->list[bond_kinds[b]];
        int n_ends = md_kind_n_atoms(bond_kinds[b]);
        for (int i = 0; i < list->n; i++) {
            const int *atoms = list->atoms + (size_t)i * n_ends;
            for (int end = 1; end < n_ends; end++) {
                int at = cursor[atoms[0]]++, other = cursor[atoms[end]]++;
                if (!partner) continue;
                partner[at] = atoms[end];
                partner[other] = atoms[0];
            }
        }
    }
}

static bond_lists bond_lists_of(const md_moltype *moltype)
{
    int n = moltype->n_atoms;
    int *count = base_alloc_zero((size_t)n * sizeof *count);
    visit_bonds(moltype, count, NULL);
    bond_lists bonds = {.start = base_alloc((size_t)(n + 1) * sizeof(int))};
    bonds.start[0] = 0;
    for (int i = 0; i < n; i++) {
        bonds.start[i + 1] = bonds.start[i] + count[i];
        count[i] = bonds.start[i];
    }
    bonds.partner = base_alloc((size_t)bonds.start[n] * sizeof(int));
    visit_bonds(moltype, count, bonds.partner);
    base_free(count);
    return bonds;
}

static bond_tree bond_tree_of(const md_moltype *moltype)
{
    int n = moltype->n_atoms, n_placed = 0;
    bond_lists bonds = bond_lists_of(moltype);
    bond_tree tree = {.order = base_alloc((size_t)n * sizeof(int)),
                      .parent = base_alloc((size_t)n * sizeof(int))};
    bool *seen = base_alloc_zero((size_t)n * sizeof *seen);
    for (int root = 0; root < n; root++) {
        if (seen[root]) continue;
        seen[root] = true;
        tree.parent[root] = -1;
        int next = n_placed;
        tree.order[n_placed++] = root;
        for (; next < n_placed; next++) {
            int atom = tree.order[next];
            for (int b = bonds.start[atom]; b < bonds.start[atom + 1]; b++) {
                int other = bonds.partner[b];
                if (seen[other]) continue;
                seen[other] = true;
                tree.parent[other] = atom;
                tree.order[n_placed++] = other;
            }
        }
    }
    base_free(seen);
    base_free(bonds.start);
    base_free(bonds.partner);
    return tree;
}

static void make_whole(const md_box *box, const bond_tree *tree, int n_atoms, const double (*x)[3],
                       double (*whole)[3])
{
    for (int k = 0; k < n_atoms; k++) {
        int atom = tree->order[k], parent = tree->parent[atom];
        memcpy(whole[atom], x[atom], sizeof *whole);
        if (parent < 0) continue;
        double d[3];
        md_box_nearest(box, x[atom], whole[parent], d);
        for (int axis = 0; axis < 3; axis++) whole[atom][axis] = whole[parent][axis] + d[axis];
    }
}

/* ---- text ----------------------------------------------------------------------------------- */

typedef struct text_writer {
    md_replace *replace;
    size_t n;
    char text[TEXT_BYTES];
} text_writer;

static sundog_status flush_text(text_writer *out)
{
    size_t n = out->n;
    out->n = 0;
    return md_replace_write(out->replace, out->text, n);
}

/* Right-aligned; false if it does not fit. */
static bool put_fixed(char *field, int width, int decimals, double value)
{
    static const double power[] = {1, 10, 100, 1e3, 1e4, 1e5};
    double scaled = fabs(value) * power[decimals];
    if (!(scaled < 1e15)) return false;
    int64_t digits = llrint(scaled);
    bool minus = value < 0.0 && digits != 0;
    int at = width, n_digits = 0;
    while (digits > 0 || n_digits <= decimals) {
        if (n_digits == decimals) field[--at] = '.';
        if (at <= 0) return false;
        field[--at] = (char)('0' + digits % 10);
        digits /= 10;
        n_digits++;
    }
    if (minus && at == 0) return false;
    if (minus) field[--at] = '-';
    while (at > 0) field[--at] = ' ';
    return true;
}

static void put_integer(char *field, int value)
{
    for (int at = 4; at >= 0; at--, value /= 10)
        field[at] = value > 0 || at == 4 ? (char)('0' + value % 10) : ' ';
}

/* At most 5 characters; to the left or to the right. */
static void put_name(char *field, const char *name, bool right)
{
    size_t n = strlen(name);
    if (n > 5) n = 5;
    memset(field, ' ', 5);
    memcpy(field + (right ? 5 - n : 0), name, n);
}

typedef struct conf_writer {
    const md_topology *topology;
    const md_state *state;
    bool any; /* numbers that do not fit become nan */
    text_writer text;
} conf_writer;

static sundog_status put_atom(conf_writer *conf, const md_atom_place *place, const double x[3])
{
    const md_moltype *moltype = &conf->topology->moltype[place->moltype];
    const md_atom *atom = &moltype->atom[place->atom];
    int64_t global = place->first_atom + place->atom;
    if (TEXT_BYTES - conf->text.n < LINE_BYTES) BASE_TRY(flush_text(&conf->text));
    char *p = conf->text.text + conf->text.n;
    put_integer(p, md_topology_residue_number(conf->topology, place) % 100000);
    put_name(p + 5, moltype->residue[atom->residue].name, false);
    put_name(p + 10, atom->name, true);
    put_integer(p + 15, (int)((global + 1) % 100000));
    p += 20;
    bool fits = true;
    for (int k = 0; k < 3; k++, p += 8) {
        if (put_fixed(p, 8, 3, x[k])) continue;
        fits = conf->any;
        memcpy(p, "     nan", 8);
    }
    if (conf->state->has_velocities)
        for (int k = 0; k < 3; k++, p += 8)
            fits = put_fixed(p, 8, 4, conf->state->v[global][k]) && fits;
    if (!fits) {
        const double *v = conf->state->v[global];
        return base_fail(
            SUNDOG_ERR_PHYSICS,
            "%s: atom %lld does not fit the format: position (%g, %g, %g) nm, velocity "
            "(%g, %g, %g) nm/ps; the system has probably blown up",
            conf->text.replace->path, (long long)global + 1, x[0], x[1], x[2], v[0], v[1], v[2]);
    }
    *p++ = '\n';
    conf->text.n = (size_t)(p - conf->text.text);
    return SUNDOG_OK;
}

static sundog_status put_block(conf_writer *conf, int block_number)
{
    const md_molblock *block = &conf->topology->molblock[block_number];
    const md_moltype *moltype = &conf->topology->moltype[block->moltype];
    int n = moltype->n_atoms;
    bond_tree tree = bond_tree_of(moltype);
    double(*whole)[3] = base_alloc((size_t)n * sizeof *whole);
    sundog_status status = SUNDOG_OK;
    for (int64_t molecule = 0; molecule < block->count && status == SUNDOG_OK; molecule++) {
        md_atom_place place = {.block = block_number,
                               .moltype = block->moltype,
                               .molecule = molecule,
                               .first_atom = block->first_atom + molecule * n};
        make_whole(&conf->state->box, &tree, n,
                   (const double(*)[3])conf->state->x + place.first_atom, whole);
        for (place.atom = 0; place.atom < n && status == SUNDOG_OK; place.atom++)
            status = put_atom(conf, &place, whole[place.atom]);
    }
    base_free(whole);
    base_free(tree.order);
    base_free(tree.parent);
    return status;
}

static sundog_status put_box(conf_writer *conf)
{
    const md_box *box = &conf->state->box;
    static const int entry[9][2] = {{0, 0}, {1, 1}, {2, 2}, {0, 1}, {0, 2},
                                    {1, 0}, {1, 2}, {2, 0}, {2, 1}};
    int n = md_box_is_orthogonal(box) ? 3 : 9;
    BASE_TRY(flush_text(&conf->text));
    char *p = conf->text.text;
    for (int k = 0; k < n; k++, p += 10) {
        if (!put_fixed(p, 10, 5, box->m[entry[k][0]][entry[k][1]]))
            return base_fail(SUNDOG_ERR_PHYSICS,
                             "%s: a box length of %g nm does not fit the format",
                             conf->text.replace->path, box->m[entry[k][0]][entry[k][1]]);
    }
    *p++ = '\n';
    conf->text.n = (size_t)(p - conf->text.text);
    return flush_text(&conf->text);
}

static sundog_status put_title(conf_writer *conf, const char *title)
{
    char head[512];
    int n_title = (int)strcspn(title, "\r\n"); /* the title is one line */
    if (n_title > 400) n_title = 400;
    int n = snprintf(head, sizeof head, "%.*s\n%5lld\n", n_title, title,
                     (long long)conf->state->n_atoms);
    return md_replace_write(conf->text.replace, head, (size_t)n);
}

static sundog_status put_all(conf_writer *conf, const char *title)
{
    BASE_TRY(put_title(conf, title));
    for (int b = 0; b < conf->topology->n_molblocks; b++) BASE_TRY(put_block(conf, b));
    return put_box(conf);
}

static sundog_status write_conf(const char *path, const char *title, const md_topology *topology,
                                const md_state *state, bool any)
{
    if (state->n_atoms != topology->n_atoms)
        return base_fail(SUNDOG_ERR_ARGUMENT, "%s: %lld atoms in the state, %lld in the topology",
                         path, (long long)state->n_atoms, (long long)topology->n_atoms);
    md_replace replace;
    BASE_TRY(md_replace_begin(path, &replace));
    conf_writer *conf = base_alloc(sizeof *conf);
    conf->topology = topology;
    conf->state = state;
    conf->any = any;
    conf->text.replace = &replace;
    conf->text.n = 0;
    sundog_status status = put_all(conf, title);
    base_free(conf);
    if (status != SUNDOG_OK) {
        md_replace_cancel(&replace);
        return status;
    }
    return md_replace_commit(&replace, NULL);
}

sundog_status md_conf_write(const char *path, const char *title, const md_topology *topology,
                            const md_state *state)
{
    return write_conf(path, title, topology, state, false);
}

sundog_status md_conf_write_any(const char *path, const char *title, const md_topology *topology,
                                const md_state *state)
{
    return write_conf(path, title, topology, state, true);
}
