/* What the master and the slaves of the recipe's program agree on. */
#define RECIPE_FLOATS 1000
#define RECIPE_PIECES 20
