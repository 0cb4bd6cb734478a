/*
 * Folders of pictures as samples:
 *
 *     DIR/cat/1.png  DIR/cat/2.png  DIR/dog/1.png
 *
 * Folders in DIR are classes, numbered in the order of their names, and so are the
 * pictures in them.  A placeholder of floats gets the pixels, from 0 to 1; one of
 * integers gets the classes.
 */

#define _XOPEN_SOURCE 700

#include <dirent.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "tools/common/image.h"
#include "tools/glow-train/train.h"

bool
is_folder(const char *path)
{
    struct stat s;

    return stat(path, &s) == 0 && S_ISDIR(s.st_mode);
}

static int
by_name(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* The entries of a folder but hidden ones, in the order of bytes. */
static tool_list
entries_of(train *t, const char *path)
{
    DIR *d = opendir(path);
    tool_list l = {0};

    for (struct dirent *e; d && (e = readdir(d)) != NULL;)
        if (e->d_name[0] != '.')
            tool_list_add(
                &t->tool, &l,
                glow_arena_printf(t->tool.arena, "%s/%s", path, e->d_name));
    if (d)
        closedir(d);
    if (l.count > 0)
        glow_sort(l.items, l.count, sizeof *l.items, by_name);
    return l;
}

/* The pictures, and their classes. */
static bool
list_pictures(train *t, const char *path, tool_list *pictures,
              int64_t **classes)
{
    tool_list folders = entries_of(t, path);
    size_t cap = 0;
    int64_t number = 0;

    for (size_t i = 0; i < folders.count; i++) {
        tool_list inside;

        if (!is_folder(folders.items[i]))
            continue;
        inside = entries_of(t, folders.items[i]);
        for (size_t k = 0; k < inside.count; k++) {
            *classes = glow_arena_grow(t->tool.arena, *classes, pictures->count,
                                       &cap, sizeof **classes);
            (*classes)[pictures->count] = number;
            tool_list_add(&t->tool, pictures, inside.items[k]);
        }
        number++;
    }
    return pictures->count > 0 ||
           glow_error(t->tool.ctx, "E0641",
                      "%s: there is no folder with a picture in it", path);
}

bool
read_folder(train *t, train_source *s)
{
    tool_list pictures = {0};
    int64_t *classes = NULL;
    glow_type type = *s->type;

    if (!list_pictures(t, s->path, &pictures, &classes))
        return false;
    if (glow_is_float(type.elem)) {
        image_layout layout =
            t->values.image_layout && t->values.image_layout[1] == 'H'
                ? IMAGE_NHWC
                : IMAGE_NCHW;

        if (type.shape.rank > 0)
            type.shape.at[0] = (int64_t)pictures.count;
        if (!image_read(t->tool.ctx, pictures.items, pictures.count, IMAGE_0TO1,
                        layout, glow_type_get(t->tool.ctx, type), &s->elements))
            return false;
        s->owner = s->elements.owner;
        return true;
    }
    type = glow_type_of(GLOW_INDEX64, GLOW_DIMS_OF((int64_t)pictures.count));
    s->elements = glow_tensor_new(glow_type_get(t->tool.ctx, type));
    s->owner = s->elements.owner;
    memcpy(s->elements.data, classes, pictures.count * sizeof *classes);
    return true;
}
