// SPDX-License-Identifier: MIT
// Step sizes are controlled in log2 of the squared error, with the dialect's own log2 and exp2.
//
// CONTROL_A, _B, _C, _SAFETY (log2), _GROW, _SHRINK, _REJECT (gain after a rejection) are
// constants. History changes with accepted steps only; a rejected step always shrinks; an error
// that is infinite or not a number counts as huge. A controller with memory (CONTROL_COARSE)
// smooths anyway: it makes do with a coarse log2 and exp2, and its steps come out to half a
// percent.

#if CONTROL_COARSE
#define GAIN(x) R((x) / (elem)COARSE_UNIT)
#define ERROR_LOG2 r_log2_coarse
#define GAIN_EXP2 r_exp2_coarse
#else
#define GAIN(x) R(x)
#define ERROR_LOG2 r_log2_rough
#define GAIN_EXP2 r_exp2_rough
#endif

// Returns the next step, positive. `error2` is the squared norm, `h` the attempted step's size.
INLINE real control_next(struct past *p, real error2, real h, mask accepted) {
    real l0 = ERROR_LOG2(error2);
    real shrink = r_fma(l0, GAIN(-CONTROL_REJECT), R(CONTROL_SAFETY));
    real z = r_fma(l0, GAIN(-CONTROL_A), R(CONTROL_SAFETY));
    if (CONTROL_B != 0)
        z = r_fma(p->l1, GAIN(CONTROL_B), z);
    if (CONTROL_C != 0)
        z = r_fma(p->l2, GAIN(-CONTROL_C), z);
#if CONTROL_GUSTAFSSON
    real hlog = r_log2_rough(r_at_least(h, R(SMALLEST_STEP)));
    z = r_at_least(r_at_most(z + (hlog - p->hlast), shrink), R(-20));
    p->hlast = select(accepted, hlog, p->hlast);
#endif
    z = select(accepted, z, shrink);
    real gain = r_at_least(GAIN_EXP2(z), R(CONTROL_SHRINK));
    gain = r_at_most(gain, select(accepted, p->top, R(0.9)));
    p->top = select(accepted, R(CONTROL_GROW), R(1));
    if (CONTROL_C != 0)
        p->l2 = select(accepted, p->l1, p->l2);
    if (CONTROL_B != 0 || CONTROL_C != 0)
        p->l1 = select(accepted, l0, p->l1);
    return h * gain;
}
