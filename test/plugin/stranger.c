/* A shared object that is no plugin. */

extern int stranger(void);

int
stranger(void)
{
    return 1;
}
