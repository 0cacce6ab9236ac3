"""Compiled loops of `deniable.attack.particles`, where they are explained. All noise is in units of sigma.

Arguments that both filters share, for one transcript: `counts` (T, C) of the stream that the particles follow,
`audits` (T,), `eligible` (T, C), the decoder as `theta` and `omega` (d,), `shift` (T, C), by how much the two worlds
move each round's whitened noise apart, and the table of `normal_table`.
"""

import math

import numba
import numpy as np

from deniable.arrays import BoolArray, FloatArray, IntArray
from deniable.compiling import compiled

# Distance of the nodes of the integrals over the winning noisy count. The trapezoid rule is then good to about 2e-4 on
# a density as narrow as that of the largest of a thousand normals; and right on average, since its start is random.
STEP = 0.5
# Nodes on either side of the first; and where an integrand ends, as a part of its largest value.
MOST_NODES = 80
TAIL = 1e-5
# Of the table of Phi: its ends, and entries for every unit.
END = 8
FINE = 256


@compiled()
def normal_table() -> FloatArray:
    return np.array([0.5 * math.erfc(-(k / FINE - END) / math.sqrt(2)) for k in range(2 * END * FINE + 2)])


@numba.njit(inline="always")
def _normal(v: float, table: FloatArray) -> float:
    """Phi(v), at least Phi(-8), to a relative error of 1e-4."""
    at = (v + END) * FINE
    if at <= 0.0:
        return float(table[0])
    if at >= 2 * END * FINE:
        return 1.0
    k = int(at)
    return float(table[k] + (at - k) * (table[k + 1] - table[k]))


@compiled()
def _normal_below(v: float, rng: np.random.Generator) -> float:
    """A standard normal, given that it is below v."""
    if v > -0.5:
        while True:
            z = rng.standard_normal()
            if z < v:
                return z
    # The tail is nearly exponential; what is accepted is exact.
    rate = (math.sqrt(v * v + 4) - v) / 2
    while True:
        z = rng.standard_exponential() / rate
        if rng.random() < math.exp(-((z - v - rate) ** 2) / 2):
            return v - z


@compiled()
def _survivors(weights: FloatArray, u: float, source: IntArray) -> None:
    """Systematic resampling in place: particle i is to be replaced by `source[i]`, itself where it survives."""
    n = len(weights)
    total = weights.sum()
    copies = np.zeros(n, dtype=np.int64)
    reached, taken = 0.0, 0
    for i in range(n):
        reached += weights[i] / total * n
        while taken < n and taken + u < reached:
            taken += 1
            copies[i] += 1
    copies[np.argmax(weights)] += n - taken  # of rounding
    hole = 0
    for i in range(n):
        if copies[i] > 0:
            source[i] = i
    for i in range(n):
        for _ in range(copies[i] - 1):
            while copies[hole] > 0:
                hole += 1
            source[hole] = i
            hole += 1


@compiled()
def _pick(values: FloatArray, n: int, u: float) -> int:
    """An index below n, with probability proportional to the values."""
    total = 0.0
    for k in range(n):
        total += values[k]
    left = u * total
    for k in range(n):
        left -= values[k]
        if left < 0.0:
            return k
    return n - 1


@compiled()
def _log_means(weights: FloatArray, h: FloatArray) -> tuple[float, float]:
    """Log of the weighted means of exp(h) and exp(-h)."""
    high, low = h.max(), h.min()
    plus = minus = 0.0
    for i in range(len(h)):
        plus += weights[i] * math.exp(h[i] - high)
        minus += weights[i] * math.exp(low - h[i])
    total = math.log(weights.sum())
    return math.log(plus) + high - total, math.log(minus) - low - total


@compiled(nogil=True)
def whole_clouds(  # noqa: PLR0912, PLR0915, PLR0917  (a compiled loop: a call in it would copy its arrays)
    counts: FloatArray,
    audits: IntArray,
    eligible: BoolArray,
    theta: FloatArray,
    omega: FloatArray,
    shift: FloatArray,
    particles: int,
    rng: np.random.Generator,
    table: FloatArray,
) -> tuple[float, float]:
    """Log P[transcript | filed] and log P[transcript | not filed]; a particle holds the noise of all targets."""
    rounds, n_targets = counts.shape
    d = len(theta)
    buffers = np.zeros((particles, n_targets, d))
    means = np.empty((particles, n_targets))
    active = np.zeros(n_targets)
    h = np.zeros(particles)
    log_weights = np.zeros(particles)
    weights = np.ones(particles)
    winning = np.empty(particles)
    source = np.empty(particles, dtype=np.int64)
    up, nodes = np.empty(MOST_NODES), np.empty(2 * MOST_NODES)
    log_likelihood = 0.0
    for t in range(rounds):
        a = audits[t]
        for c in range(n_targets):
            active[c] += counts[t, c]
        for i in range(particles):
            top = -np.inf
            for c in range(n_targets):
                mean = active[c]
                for k in range(d):
                    mean += omega[k] * buffers[i, c, k]
                means[i, c] = mean
                if eligible[t, c] and mean > top:
                    top = mean
            # P[a wins | particle] by the trapezoid rule, outwards from a node near the mode until nothing is left.
            start = top + STEP * rng.random()
            best, n_up, n_down = 0.0, 0, 0
            offset = (start - means[i, a]) ** 2 / 2  # so that nothing underflows at the start
            while n_up < MOST_NODES:
                up[n_up] = _winning(start + n_up * STEP, offset, means[i], eligible[t], a, table)
                best = max(best, up[n_up])
                n_up += 1
                if up[n_up - 1] < TAIL * best:
                    break
            while n_down < MOST_NODES:
                value = _winning(start - (n_down + 1) * STEP, offset, means[i], eligible[t], a, table)
                nodes[n_down] = value
                best = max(best, value)
                n_down += 1
                if value < TAIL * best:
                    break
            for k in range(n_up):
                nodes[n_down + k] = up[k]
            n_nodes = n_down + n_up
            total = 0.0
            for k in range(n_nodes):
                total += nodes[k]
            log_weights[i] += math.log(total * STEP / math.sqrt(2 * math.pi)) - offset
            # A node of a lattice at random is a draw from the density itself.
            k = _pick(nodes, n_nodes, rng.random())
            winning[i] = start + (k - n_down if k >= n_down else -(k + 1)) * STEP
        top = log_weights.max()
        for i in range(particles):
            weights[i] = math.exp(log_weights[i] - top)
        if weights.sum() ** 2 < 0.5 * particles * (weights**2).sum():
            log_likelihood += top + math.log(weights.sum() / particles)
            _survivors(weights, rng.random(), source)
            for i in range(particles):
                j = source[i]
                if i != j:
                    buffers[i] = buffers[j]
                    means[i] = means[j]
                    winning[i] = winning[j]
                    h[i] = h[j]
            log_weights[:] = 0.0
        for i in range(particles):
            for c in range(n_targets):
                v = winning[i] - means[i, c]
                if c == a:
                    z = v
                elif eligible[t, c]:
                    z = _normal_below(v, rng)
                else:
                    z = rng.standard_normal()
                h[i] += 0.5 * shift[t, c] * z
                for k in range(d):
                    buffers[i, c, k] = 0.0 if c == a else theta[k] * buffers[i, c, k] + z
        active[a] = 0.0
    top = log_weights.max()
    for i in range(particles):
        weights[i] = math.exp(log_weights[i] - top)
    log_likelihood += top + math.log(weights.sum() / particles) - (shift**2).sum() / 8
    plus, minus = _log_means(weights, h)
    return log_likelihood + plus, log_likelihood + minus


@compiled()
def _winning(  # noqa: PLR0917
    x: float, offset: float, means: FloatArray, eligible: BoolArray, a: int, table: FloatArray
) -> float:
    """The density at x of a's noisy count and every rival's being below, times sqrt(2 pi) exp(offset)."""
    value = math.exp(offset - (x - means[a]) ** 2 / 2)
    for c in range(len(means)):
        if c != a and eligible[c]:
            value *= _normal(x - means[c], table)
    return value


@compiled(nogil=True)
def separate_clouds(  # noqa: PLR0912, PLR0915, PLR0917
    counts: FloatArray,
    audits: IntArray,
    eligible: BoolArray,
    theta: FloatArray,
    omega: FloatArray,
    shift: FloatArray,
    sizes: IntArray,
    rng: np.random.Generator,
    table: FloatArray,
) -> float:
    """Log of the likelihood ratio, from a cloud for each target, of `sizes` (C,) particles.

    Given the past transcript the clouds are treated as independent of each other.
    """
    rounds, n_targets = counts.shape
    d, most = len(theta), sizes.max()
    buffers = np.zeros((n_targets, most, d))
    means = np.empty((n_targets, most))
    weights = np.empty((n_targets, most))
    h = np.zeros((n_targets, most))
    for c in range(n_targets):
        weights[c, : sizes[c]] = 1.0 / sizes[c]
    active = np.zeros(n_targets)
    own = np.empty(n_targets)
    below = np.empty((2 * MOST_NODES, n_targets))
    x, density, values = np.empty(2 * MOST_NODES), np.empty(2 * MOST_NODES), np.empty(2 * MOST_NODES)
    gains = np.empty(most)
    node = np.empty(most, dtype=np.int64)
    source = np.empty(most, dtype=np.int64)
    # From the last round in which the two worlds differ on, there is nothing to be learnt.
    last = 0
    for t in range(rounds):
        for c in range(n_targets):
            if shift[t, c] != 0.0:
                last = t + 1
    ratio = 0.0
    for t in range(last):
        a = audits[t]
        start = -np.inf
        for c in range(n_targets):
            active[c] += counts[t, c]
            own[c] = 0.0
            for i in range(sizes[c]):
                mean = active[c]
                for k in range(d):
                    mean += omega[k] * buffers[c, i, k]
                means[c, i] = mean
                own[c] += weights[c, i] * mean
            if eligible[t, c]:
                start = max(start, own[c])
        start += STEP * rng.random()
        # The density of the winning noisy count, up to a factor, on a lattice outwards from `start`.
        offset = (start - own[a]) ** 2 / 2
        best, n_nodes = 0.0, 0
        for direction in (1, -1):
            for k in range(MOST_NODES):
                at = start + (k if direction > 0 else -(k + 1)) * STEP
                value = 0.0
                for i in range(sizes[a]):
                    value += weights[a, i] * math.exp(offset - (at - means[a, i]) ** 2 / 2)
                for c in range(n_targets):
                    if c != a and eligible[t, c]:
                        share = 0.0
                        for i in range(sizes[c]):
                            share += weights[c, i] * _normal(at - means[c, i], table)
                        below[n_nodes, c] = share
                        value *= share
                x[n_nodes], density[n_nodes] = at, value
                n_nodes += 1
                best = max(best, value)
                if value < TAIL * best:
                    break
        for c in range(n_targets):
            n = sizes[c]
            if c == a and shift[t, c] == 0.0:
                continue
            if c != a and not eligible[t, c]:
                for i in range(n):
                    z = rng.standard_normal()
                    h[c, i] += 0.5 * shift[t, c] * z
                    for k in range(d):
                        buffers[c, i, k] = theta[k] * buffers[c, i, k] + z
                continue
            if c == a:
                for k in range(n_nodes):
                    share = 0.0
                    for i in range(n):
                        share += weights[c, i] * math.exp(offset - (x[k] - means[c, i]) ** 2 / 2)
                    below[k, c] = share
            total = 0.0
            for i in range(n):
                gains[i] = 0.0
                for k in range(n_nodes):
                    v = x[k] - means[c, i]
                    likely = math.exp(offset - v * v / 2) if c == a else _normal(v, table)
                    values[k] = density[k] / below[k, c] * likely if below[k, c] > 0.0 else 0.0
                    gains[i] += values[k]
                node[i] = _pick(values, n_nodes, rng.random())
                weights[c, i] *= gains[i]
                total += weights[c, i]
            squares = 0.0
            for i in range(n):
                weights[c, i] /= total
                squares += weights[c, i] ** 2
            if c != a and 0.5 * n * squares > 1.0:
                _survivors(weights[c, :n], rng.random(), source)
                for i in range(n):
                    j = source[i]
                    if i != j:
                        buffers[c, i] = buffers[c, j]
                        means[c, i] = means[c, j]
                        node[i] = node[j]
                        h[c, i] = h[c, j]
                    weights[c, i] = 1.0 / n
            for i in range(n):
                v = x[node[i]] - means[c, i]
                z = v if c == a else _normal_below(v, rng)
                h[c, i] += 0.5 * shift[t, c] * z
                for k in range(d):
                    buffers[c, i, k] = theta[k] * buffers[c, i, k] + z
        plus, minus = _log_means(weights[a, : sizes[a]], h[a, : sizes[a]])
        ratio += plus - minus
        active[a] = 0.0
        buffers[a] = 0.0
        h[a] = 0.0
        weights[a, : sizes[a]] = 1.0 / sizes[a]
    for c in range(n_targets):
        plus, minus = _log_means(weights[c, : sizes[c]], h[c, : sizes[c]])
        ratio += plus - minus
    return ratio
