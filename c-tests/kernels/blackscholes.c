/* Prices of European options by the formula of Black and Scholes: one large parallel loop over options that know
   nothing of each other, executed again and again. No communication at all: the loop that profits from every node.
   The same function is inlined twice, and both must round alike where there are fused multiplications.
   hetmp-test: flags=-ffp-contract=off
   hetmp-test: forms=none,runtime,dynamic
   hetmp-test: threads=1,2,3
   hetmp-test: args=S
   hetmp-test: libs=-lm */
#include "kernel.h"
#include <math.h>

typedef struct {
    double spot, strike, rate, volatility, years;
    int put;
} option;

/* The normal distribution function, by a polynomial in 1 / (1 + p x) (Abramowitz and Stegun 26.2.17), 7.5e-8. */
static inline double normal(double x)
{
    double z = fabs(x), t = 1 / (1 + 0.2316419 * z);
    double poly =
        t * (0.319381530 + t * (-0.356563782 + t * (1.781477937 + t * (-1.821255978 + t * 1.330274429))));
    double upper = 0.3989422804014327 * exp(-0.5 * z * z) * poly;
    return x < 0 ? upper : 1 - upper;
}

static inline double price(const option *o, int put)
{
    double deviation = o->volatility * sqrt(o->years);
    double d1 =
        (log(o->spot / o->strike) + (o->rate + 0.5 * o->volatility * o->volatility) * o->years) / deviation;
    double d2 = d1 - deviation;
    double discounted = o->strike * exp(-o->rate * o->years);
    double n1 = normal(d1), n2 = normal(d2);
    return put ? discounted * (1 - n2) - o->spot * (1 - n1) : o->spot * n1 - discounted * n2;
}

int main(int argc, char **argv)
{
    int large = kernel_begin("blackscholes", argc, argv, 6, 100);
    int n = large ? 131072 : 8192;
    option *options = space(n, sizeof *options);
    double *prices = space(n, sizeof *prices);
    unsigned long long seed = 11;
    for (int i = 0; i < n; i++) {
        option *o = &options[i];
        o->spot = 20 + 100 * uniform(&seed);
        o->strike = o->spot * (0.6 + 0.8 * uniform(&seed));
        o->rate = 0.01 + 0.09 * uniform(&seed);
        o->volatility = 0.05 + 0.6 * uniform(&seed);
        o->years = 0.1 + 2 * uniform(&seed);
        o->put = uniform(&seed) < 0.5;
    }

    for (int lap = 0; lap < kernel.laps; lap++) {
        lap_begin();
#pragma omp parallel for SCHED
        for (int i = 0; i < n; i++)
            prices[i] = price(&options[i], options[i].put);
        lap_end();
    }

    double sum = 0;
    int same = 1, parity = 1;
    for (int i = 0; i < n; i++) {
        const option *o = &options[i];
        double put = price(o, 1), call = price(o, 0);
        same &= prices[i] == (o->put ? put : call);
        /* A call less a put is the share less the discounted strike, whatever the distribution. */
        parity &= fabs(call - put - (o->spot - o->strike * exp(-o->rate * o->years))) < 1e-9;
        sum += prices[i];
    }
    kernel_check(same, "prices equal those computed serially");
    kernel_check(parity, "put-call parity");
    printf("sum %.9e\n", sum);
    return kernel_end();
}
