"""Makes the reference tables of this directory with mpmath (50 digits) and scipy. Run: python3 make.py

t_upper_quantiles.csv, normal_quantiles.csv, t_tails.csv: by mpmath from the densities' closed forms, independent of the
library's method. detectable_one_look.csv: power of a two-sided one-sample t test, by scipy's noncentral t.
"""
import mpmath as mp
from scipy import optimize, stats

mp.mp.dps = 50

UPPER = [1e-12, 1e-9, 1e-6, 1e-4, 0.001, 0.0025, 0.005, 0.0125, 0.025, 0.05, 0.1, 0.25, 0.26, 0.4, 0.499, 0.5 - 2.0**-40]
DF = [1, 2, 3, 3.5, 5, 7, 9, 11, 30, 100, 1000, 1000000]
TS = [1e-9, 1e-3, 0.5, 1.0, 1.7, 1.74, 3.0, 10.0, 100.0]


def tail(t, df):
    t, df = mp.mpf(t), mp.mpf(df)
    x = df / (df + t * t)
    if t * t < df / 100 and df < 1000 or t < mp.mpf("0.1"):
        # The middle as a hypergeometric series keeps small t exact.
        constant = mp.gamma((df + 1) / 2) / (mp.sqrt(mp.pi * df) * mp.gamma(df / 2))
        return mp.mpf("0.5") - t * constant * mp.hyp2f1(mp.mpf("0.5"), (df + 1) / 2, mp.mpf("1.5"), -t * t / df)
    if df >= 1000:
        constant = mp.exp(mp.loggamma((df + 1) / 2) - mp.loggamma(df / 2)) / mp.sqrt(mp.pi * df)
        density = lambda v: constant * mp.exp(-(df + 1) / 2 * mp.log1p(v * v / df))
        ends = [t + k for k in range(0, 40, 4)]
        return mp.quad(density, ends)
    return mp.betainc(df / 2, mp.mpf("0.5"), 0, x, regularized=True) / 2


def invert(function, q, guess):
    """Newton in the logarithm, by secant steps, from a double precision guess."""
    target = mp.log(mp.mpf(q))
    return mp.findroot(lambda t: mp.log(function(t)) - target, (mp.mpf(guess), mp.mpf(guess) * (1 + mp.mpf(10) ** -7)), tol=mp.mpf(10) ** -60)


def main():
    with open("t_upper_quantiles.csv", "w") as out:
        out.write("df,upper_tail,t\n")
        for df in DF:
            for q in UPPER:
                t = invert(lambda value: tail(value, df), q, stats.t.isf(q, df))
                out.write(f"{df},{q!r},{mp.nstr(t, 20)}\n")
    with open("normal_quantiles.csv", "w") as out:
        out.write("upper_tail,z\n")
        for q in UPPER:
            z = invert(lambda value: mp.erfc(value / mp.sqrt(2)) / 2, q, stats.norm.isf(q))
            out.write(f"{q!r},{mp.nstr(z, 20)}\n")
    with open("t_tails.csv", "w") as out:
        out.write("df,t,upper_tail\n")
        for df in DF:
            for t in TS:
                out.write(f"{df},{t!r},{mp.nstr(tail(t, df), 20)}\n")
    with open("detectable_one_look.csv", "w") as out:
        out.write("n,alpha,noncentrality\n")
        for n in [4, 6, 12]:
            for alpha in [0.05, 0.01]:
                critical = stats.t.isf(alpha / 2, n - 1)
                shift = optimize.brentq(lambda d: stats.nct.sf(critical, n - 1, d) - 0.9, 0.1, 60, xtol=1e-12)
                out.write(f"{n},{alpha!r},{shift!r}\n")


main()
