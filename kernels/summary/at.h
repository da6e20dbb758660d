// SPDX-License-Identifier: MIT
// The value at a time; where an event changes it then, that before, as in samples.
INLINE void at_begin(SUMMARY_BEGIN) {
    m[0] = select(on, R(NAN_VALUE), m[0]);
    m[1] = select(on, R(0), m[1]);
}
INLINE void at_segment(SUMMARY_SEGMENT) {
    real t = t_diff(summary_number(a, g, c.number), g->summary.begin);
    real slack = t_width(s->t_new, g->t0); // times that are meant to be one
    t = select(r_le(r_abs(t - x->t1), slack), x->t1, t);
    t = select(r_le(r_abs(t - x->t0), slack), x->t0, t);
    mask due = m_and(r_ge((t - x->t0) * g->dir, R(0)), r_le((t - x->t1) * g->dir, R(0)));
    due = m_and(m_and(x->on, due), r_eq(m[1], R(0)));
    if (!any(due))
        return;
    real theta = r_fma(x->to - x->from, (t - x->t0) / (x->t1 - x->t0), x->from);
    theta = select(r_eq(t, x->t1), x->to, select(r_eq(t, x->t0), x->from, theta));
    m[0] = select(due, summary_value_then(g, s, theta, c.expression), m[0]);
    m[1] = select(due, R(1), m[1]);
}
INLINE real at_value(SUMMARY_VALUE) { return m[0]; }
