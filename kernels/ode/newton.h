// SPDX-License-Identifier: MIT
// Simplified Newton iterations say when a lane is done, and when it will not be.
//
// All iterations of a step take the matrix of its start. A lane that has converged keeps its values
// while others of the vector go on, so its result is its own. An iteration that shrinks the
// correction by theta leaves theta / (1 - theta) times it to do; the first one of a stage takes
// what was found before. How many iterations a step took slows the growth of the next, and a step
// that does not converge is repeated with a shorter one. A fixed step cannot be: there it may take
// longer.

enum { NEWTON_MOST = ADAPTIVE ? 7 : 50 }; // iterations

// A trial is going to be made; `active` are the lanes that count.
INLINE void newton_trial(mask active, real rate, struct newton *n) {
    n->active = active;
    n->failed = m_andnot(active, active);
#if DOUBTS
    n->forced = n->failed;
#endif
    n->rate = rate;
    for (int i = 0; i < W; i++)
        LANE(n->work, i) = 0;
}

INLINE real newton_weight(const struct point *x, const struct limits *l, int j) {
    return r_reciprocal_rough(r_fma(l->rtol, r_abs(x->y[j]), l->atol[j]));
}

// A step begins: this sets the weights of its norm.
INLINE void newton_begin(const struct point *x, struct trial *s) {
    struct newton *n = &s->n;
    STATES(j, 0) n->weight[j] = newton_weight(x, s->limits, j);
    // a rate is forgotten slowly
    n->rate = r_exp2_rough(R(0.8) * r_log2_rough(r_max(n->rate, R(EPSILON))));
    n->most = R(0);
}

// Returns the lanes for which iterations are worth it.
INLINE mask newton_open(const struct trial *s) {
    return m_and(m_andnot(s->n.active, s->n.failed), is_sound(s));
}

INLINE real newton_norm2(const struct trial *s, const struct point *x,
                         const SPACE real *correction) {
    (void)x;
    real sum = R(0);
    STATES(j, 0) {
        real weighted = correction[j] * NEWTON_WEIGHT(s, x, j);
        sum = r_fma(weighted, weighted, sum);
    }
    return sum;
}

#if DOUBTS
// Returns the same norm of what is more than rounding.
INLINE real newton_leap2(const struct trial *s, const struct point *x,
                         const SPACE real *correction) {
    real sum = R(0);
    STATES(j, 0) {
        real weighted = correction[j] * NEWTON_WEIGHT(s, x, j);
        sum = select(is_leap(correction[j], x->y[j]), r_fma(weighted, weighted, sum), sum);
    }
    return sum;
}

// A small correction proves nothing where the Jacobian may be too large: another one is made, and
// if that is not smaller, the iterations fail. `open` are the lanes of iteration i, which go on if
// they are `going`.
INLINE mask newton_doubt(struct trial *s, mask open, mask going, int i, real leap2, real before) {
    struct newton *n = &s->n;
    if (i == 0) {
        n->forced = m_and(m_andnot(open, going), m_and(s->doubt, r_gt(leap2, R(0))));
        return m_or(going, n->forced);
    }
    mask lost = m_andnot(m_and(open, n->forced), r_le(leap2, before * R(0.25)));
    n->failed = m_or(n->failed, lost);
    n->forced = m_andnot(n->forced, open);
    return m_andnot(going, lost);
}
#endif

// Returns the lanes of `open` that go on after iteration i, whose correction has the squared norm
// n2, as the one before it had `before`.
INLINE mask newton_go_on(struct trial *s, mask open, int i, real n2, real before) {
    struct newton *n = &s->n;
    real theta2 = R(0), rate = n->rate, enough = s->limits->enough;
    n->most = select(open, r_max(n->most, R(i + 1)), n->most);
    n->work = i_count(n->work, open);
    if (i > 0) {
        theta2 = n2 / before;
        real theta = r_sqrt(theta2);
        rate = select(r_lt(theta, R(1)), theta / (R(1) - theta), R(1e15));
        n->rate = select(open, rate, n->rate);
    }
    real rest = rate * rate * n2;
    mask going = m_andnot(open, r_le(rest, enough));
#if ADAPTIVE // hopeless: not converging, or not fast enough for the iterations that are left
    ROLL for (int q = i + 1; q < NEWTON_MOST; q++) rest = i > 0 ? rest * theta2 : n2 * R(0);
    mask hopeless = m_andnot(going, r_le(rest, enough));
    n->failed = m_or(n->failed, hopeless);
#else // or down to rounding errors, or out of iterations
    int last = i + 1 == NEWTON_MOST;
    mask hopeless = m_andnot(going, r_lt(last ? R(1) : r_fma(n2, R(0), theta2), R(1)));
    n->failed = m_or(n->failed, m_andnot(hopeless, r_le(last ? rest : n2, R(1))));
#endif
    return m_andnot(going, hopeless);
}

// The group keeps this of the trials.
INLINE void newton_count(struct group *g, const struct trial *s) {
    g->past.rate = s->n.rate;
    g->work = g->work + s->n.work;
}

#if ADAPTIVE
// Returns the squared error as step control is to see it: where iterations failed it halves the
// step.
INLINE real newton_error2(const struct trial *s, real error2) {
    return select(s->n.failed, error2 * R(0) + R(NEWTON_FAILED), error2);
}

// Returns what the next step is multiplied with, after Hairer and Wanner II, IV.8.
INLINE real newton_caution(const struct newton *n) {
    return R(2 * NEWTON_MOST + 1) / (R(2 * NEWTON_MOST) + n->most);
}
#endif

// A fixed step whose iterations failed has no result. Where that is because something was not
// finite, they are not to blame.
INLINE void newton_end(struct trial *s) {
#if !ADAPTIVE
    mask lost = m_or(s->n.failed, m_not(is_sound(s)));
    s->n.failed = m_and(s->n.failed, finite_all(s->y1));
    STATES(j, 0) s->y1[j] = select(lost, R(NAN_VALUE), s->y1[j]);
#endif
}
