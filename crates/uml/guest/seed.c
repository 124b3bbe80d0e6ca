/* Where does a kernel under User-Mode Linux get chance from? From getrandom of its host. Loaded before the C
 * library, this gives numbers that follow from WILLIWAW_SEED (splitmix64). */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/types.h>

ssize_t getrandom(void *to, size_t n, unsigned flags)
{
    static uint64_t state;
    static int begun;
    (void)flags;
    if (!begun) {
        const char *seed = getenv("WILLIWAW_SEED");
        state = seed ? strtoull(seed, NULL, 16) : 0;
        begun = 1;
    }
    for (size_t i = 0; i < n; i++) {
        uint64_t z = state += 0x9e3779b97f4a7c15u;
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
        ((unsigned char *)to)[i] = (unsigned char)((z ^ (z >> 31)) >> 56);
    }
    return (ssize_t)n;
}
