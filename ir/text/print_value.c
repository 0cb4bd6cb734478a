/* Printing names, strings and attributes. */

#include <inttypes.h>
#include <string.h>

#include "ir/base/float.h"
#include "ir/base/utf8.h"
#include "ir/text/print.h"

static const char digits[] = "0123456789";
static const char word_begin[] =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_";
static const char word_part[] =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_0123456789.";

static bool
is_word(const char *s)
{
    return *s && strchr(word_begin, *s) && s[strspn(s, word_part)] == '\0';
}

static bool
is_one_of(const char *s, const char *const *words)
{
    while (*words && strcmp(*words, s) != 0)
        words++;
    return *words != NULL;
}

/* True if `name` can be printed after `sign` without quotes. */
static bool
is_bare(char sign, const char *name)
{
    static const char *const qualifiers[] = {"in", "out", "inout", NULL};
    static const char *const not_words[] = {"_", "inf", "nan", NULL};

    if (sign == '@' && is_one_of(name, qualifiers))
        return false;
    if (sign == '\0' && is_one_of(name, not_words))
        return false;
    return is_word(name) || (*name && name[strspn(name, digits)] == '\0');
}

void
glow_text_put_name(glow_buf *b, char sign, const char *name)
{
    if (sign)
        glow_buf_putc(b, sign);
    if (is_bare(sign, name))
        glow_buf_puts(b, name);
    else
        glow_buf_quoted(b, name, strlen(name));
}

/*
 * The second character of `[[` and `{{`, which FileCheck would interpret, is
 * printed as an escape.
 */
void
glow_buf_quoted(glow_buf *b, const char *text, size_t size)
{
    char before = '\0';

    glow_buf_putc(b, '"');
    for (size_t i = 0; i < size;) {
        size_t length = glow_utf8_length(text + i, size - i);
        unsigned char c = (unsigned char)text[i];

        if (length > 1) {
            glow_buf_add(b, text + i, length);
            i += length;
            before = '\0';
            continue;
        }
        if (c == '"' || c == '\\')
            glow_buf_printf(b, "\\%c", c);
        else if (c == '\n')
            glow_buf_puts(b, "\\n");
        else if (length == 0 || c < 0x20 || c == 0x7f ||
                 ((c == '[' || c == '{') && before == (char)c))
            glow_buf_printf(b, "\\x%02x", c);
        else
            glow_buf_putc(b, (char)c);
        before = before == (char)c ? '\0' : (char)c;
        i++;
    }
    glow_buf_putc(b, '"');
}

/* Dictionaries. */

static void
put_list(glow_buf *b, const glow_attr_value *v)
{
    bool nested = v->count > 0 && v->items[0].kind == GLOW_V_LIST;

    glow_buf_puts(b, nested ? "[ " : "[");
    for (size_t i = 0; i < v->count; i++) {
        if (i > 0)
            glow_buf_puts(b, ", ");
        glow_buf_attr_value(b, &v->items[i]);
    }
    glow_buf_puts(b, nested ? " ]" : "]");
}

void
glow_buf_attr_value(glow_buf *b, const glow_attr_value *v)
{
    switch (v->kind) {
    case GLOW_V_INT:
        glow_buf_printf(b, "%" PRId64, v->i);
        break;
    case GLOW_V_FLOAT:
        glow_buf_float(b, glow_narrow(v->f));
        break;
    case GLOW_V_STRING:
        glow_buf_quoted(b, v->text, v->size);
        break;
    case GLOW_V_BOOL:
        glow_buf_puts(b, v->i ? "true" : "false");
        break;
    case GLOW_V_WORD:
        glow_buf_puts(b, v->text);
        break;
    case GLOW_V_SYMBOL:
        glow_text_put_name(b, '@', v->text);
        break;
    case GLOW_V_TYPE:
        glow_buf_type(b, v->type);
        break;
    case GLOW_V_LIST:
        put_list(b, v);
        break;
    case GLOW_V_TYPED:
        glow_buf_printf(b, "%s : ", v->text);
        glow_buf_type(b, v->type);
        break;
    }
}

void
glow_buf_attr_list(glow_buf *b, glow_attr_list l)
{
    if (l.count == 0)
        return;
    glow_buf_puts(b, " {");
    for (size_t i = 0; i < l.count; i++) {
        if (i > 0)
            glow_buf_puts(b, ", ");
        glow_text_put_name(b, '\0', l.items[i].name);
        glow_buf_puts(b, ": ");
        glow_buf_attr_value(b, &l.items[i].value);
    }
    glow_buf_putc(b, '}');
}

/* Structs by their schema. */

static void
put_ints(glow_buf *b, const int64_t *at, int64_t count)
{
    glow_buf_putc(b, '[');
    for (int64_t i = 0; i < count; i++)
        glow_buf_printf(b, "%s%" PRId64, i ? ", " : "", at[i]);
    glow_buf_putc(b, ']');
}

static void
put_floats(glow_buf *b, const glow_floats *l)
{
    glow_buf_putc(b, '[');
    for (int64_t i = 0; i < l->count; i++) {
        if (i > 0)
            glow_buf_puts(b, ", ");
        glow_buf_float(b, l->at[i]);
    }
    glow_buf_putc(b, ']');
}

static void
put_word(glow_buf *b, const char *const *words, int index)
{
    int count = 0;

    while (words[count])
        count++;
    if (index >= 0 && index < count)
        glow_buf_puts(b, words[index]);
    else
        glow_buf_printf(b, "%d", index);
}

static void
put_field(glow_buf *b, const glow_field *f, const void *attrs)
{
    const void *m = (const char *)attrs + f->at;

    switch (f->kind) {
    case GLOW_INT:
        glow_buf_printf(b, "%d", *(const int *)m);
        break;
    case GLOW_INT64:
    case GLOW_BYTES:
        glow_buf_printf(b, "%" PRId64, *(const int64_t *)m);
        break;
    case GLOW_FLOAT32:
        glow_buf_float(b, *(const float *)m);
        break;
    case GLOW_FLAG:
        glow_buf_puts(b, *(const bool *)m ? "true" : "false");
        break;
    case GLOW_STRING: {
        const char *text = *(const char *const *)m;

        glow_buf_quoted(b, text ? text : "", text ? strlen(text) : 0);
        break;
    }
    case GLOW_ENUM:
        put_word(b, f->words, *(const int *)m);
        break;
    case GLOW_DIMS: {
        const glow_dims *d = m;

        put_ints(b, d->at, d->rank);
        break;
    }
    case GLOW_INTS: {
        const glow_ints *l = m;

        put_ints(b, l->at, l->count);
        break;
    }
    case GLOW_FLOATS:
        put_floats(b, m);
        break;
    case GLOW_KIND:
        glow_buf_puts(b, glow_kind_get(*(const glow_kind *)m)->name);
        break;
    case GLOW_FUNC:
        glow_text_put_name(b, '@', *(const char *const *)m);
        break;
    case GLOW_NO_FIELD:
        break;
    }
}

void
glow_buf_attrs(glow_buf *b, glow_schema s, const void *attrs, bool all)
{
    const char *before = " {";
    char name[64];

    for (int i = 0; attrs && i < glow_schema_count(s); i++) {
        const glow_field *f = &s.fields[i];

        if (!all && glow_attrs_is_default(s, f, attrs))
            continue;
        glow_field_text_name(f, name, sizeof name);
        glow_buf_printf(b, "%s%s: ", before, name);
        put_field(b, f, attrs);
        before = ", ";
    }
    if (before[0] == ',')
        glow_buf_putc(b, '}');
}
