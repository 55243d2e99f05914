/*
 * shm/mutant.h: five deliberate faults, all off. tests/mutants_test.sh builds each (-DSHM_MUTANT=SHM_MUTANT_NO_CAS) and
 * shows which test notices; a test suite that lets one live is not worth much. The conditions are constants, so an
 * ordinary build contains nothing of this.
 */
#ifndef SHM_MUTANT_H
#define SHM_MUTANT_H

enum {
    SHM_MUTANT_NONE,
    SHM_MUTANT_NO_CAS,          /* a move looks at the control word, then stores it */
    SHM_MUTANT_TWO_STEP,        /* a claim sets the state first, the owner afterwards */
    SHM_MUTANT_EARLY_READY,     /* READY before the seal is written */
    SHM_MUTANT_FREE_FIRST,      /* the slot is given up before the job's record says DONE */
    SHM_MUTANT_WAKE_FIRST,      /* the bell looks for a sleeper before it is rung */
};

#ifndef SHM_MUTANT
#define SHM_MUTANT SHM_MUTANT_NONE
#endif

#endif
