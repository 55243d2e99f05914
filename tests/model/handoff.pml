/*
 * handoff.pml: the hand-off of shm/ as a Spin model: control words, seals, jobs, the daemon's bell, with a crash of any
 * process after any step, and the kernel's part (locks that drop, pidfds that wake, futex waits).
 *
 * A step's label is the name that stands in the code beside the line that does it: "model: claim" in shm/slot.c is the
 * step claim here. tests/model_test.sh holds the two together and runs the configurations below.
 *
 *   WORKERS, SLOTS, JOBS        sizes
 *   CRASHES, RESTARTS           how often a worker, and the daemon, may die
 *   SUBMIT                      the daemon adds the jobs itself; else they are there from the start
 *   WIPE                        slots are zeroed on their way to FREE
 *   CANCEL                      the daemon cancels a job or fails it, at any time
 *   GIVEUP                      a worker may return its job or report a bad witness
 *   RETRY                       a proof may come out wrong once and is made again
 *   SPOIL                       a stray write may hit a descriptor: the seal finds it
 *   NO_CAS TWO_STEP EARLY_READY FREE_FIRST WAKE_FIRST   the deliberate faults of shm/mutant.h
 *
 * What must hold: nobody that lives loses a slot; a proof is made from its own job's payload; nothing is read before it is
 * whole; a synthesis that was handed over is made again only if its slot was claimed; and whenever the daemon is parked
 * and no worker can move, all jobs are over and all slots are FREE: no job lost, no slot leaked, no wake-up missed.
 *
 * Left out: the workers' own bells (the same code the other way round), peers that leave in good order, records used again
 * (a generation, as for slots), and creation, which is alone by its lock.
 */
#ifndef WORKERS
#define WORKERS 2
#endif
#ifndef SLOTS
#define SLOTS 2
#endif
#ifndef JOBS
#define JOBS 2
#endif
#ifndef CRASHES
#define CRASHES 1
#endif
#ifndef RESTARTS
#define RESTARTS 1
#endif
#define NOBODY 15
#define NONE 255

/* slot states */
#define FREE 0
#define CLAIMED 1
#define FILLING 2
#define READY 3
#define UPLOADING 4
#define UPLOADED 5
#define QUARANTINE 6
#define WIPING 7
#ifdef WIPE
#define GIVEN_UP WIPING
#else
#define GIVEN_UP FREE
#endif

/* job states */
#define JFREE 0
#define JFILLING 1
#define QUEUED 2
#define SYNTHESIS 3
#define PROVING 4
#define DONE 5
#define FAILED 6
#define CANCELLED 7
#define FAILING 8

/* ---- shared memory ---- */
byte sstate[SLOTS], sowner[SLOTS];
bit sgen[SLOTS];                /* parity is enough: one claim at most happens under the daemon's hands */
byte djob[SLOTS];               /* the descriptor's job, */
bool sealed[SLOTS];             /* and whether the seal is right for it and the generation */
byte payload[SLOTS];            /* whose payload lies there; NONE while it is being written */
byte jstate[JOBS], jowner[JOBS];
byte pjob[WORKERS];             /* what a peer says it works on */
bool joined[WORKERS];           /* the peer entry is not FREE */
byte bell;
bool flag;                      /* the bell's asleep */

/* ---- the kernel ---- */
bool locked[WORKERS];           /* the peer's lock is held */
bool parked, woken;             /* the daemon's futex wait */

/* ---- the observer ---- */
byte crashes = CRASHES, restarts = RESTARTS;
bool claimed_away[JOBS];        /* a worker claimed the slot that held it */
bool busy[WORKERS];
bool cancelled, retried, spoiled, gave_up;

#define LAST_S (SLOTS - 1)
#define LAST_J (JOBS - 1)
#define LAST_W (WORKERS - 1)
#define holds(s, j) (sstate[s] >= READY && sstate[s] <= UPLOADED && sealed[s] && djob[s] == j)
#define held(j) (holds(0, j) || holds(LAST_S, j))
#define unworked(j) (jowner[j] == NOBODY || (jowner[j] == 0 && pjob[0] != j) || (jowner[j] == LAST_W && pjob[LAST_W] != j))
#define left_by(j, w) (jowner[j] == w && (jstate[j] == FAILING || (jstate[j] == SYNTHESIS && !held(j))))
#define over(j) (jstate[j] == DONE || jstate[j] == FAILED || jstate[j] == CANCELLED)
#ifdef SPOIL
#define orphan(j) (jstate[j] == SYNTHESIS && !held(j) && unworked(j))
#define belt_helps (orphan(0) || orphan(LAST_J))
#else
#define belt_helps false
#endif
#define dead(w) (joined[w] && !locked[w])
#define has_work (jstate[0] == QUEUED || jstate[LAST_J] == QUEUED)
#define room_in(s) (sstate[s] == FREE || sstate[s] == UPLOADED)
#define has_room (room_in(0) || room_in(LAST_S))

/* One step of a worker, or of the daemon: before each the process may die instead. */
#define STEP(x) atomic { if :: skip :: crashes > 0 -> crashes--; goto died fi; x }
#define DSTEP(x) atomic { if :: skip :: restarts > 0 -> restarts--; goto died fi; x }

/* A swap that succeeds only if the slot is as expected. */
#define MOVE(from, by, to, owner)                                                                           \
    ok = (sstate[s] == from && sowner[s] == by);                                                            \
    if :: ok -> sstate[s] = to; sowner[s] = owner :: else fi
#define JOB_MOVE(from, by, to, owner)                                                                       \
    ok = (jstate[j] == from && jowner[j] == by);                                                            \
    if :: ok -> jstate[j] = to; jowner[j] = owner :: else fi

#define WAKE_SLEEPER if :: parked -> woken = true :: else fi

proctype Worker(byte me) {
    byte s, j;
    bool ok;
joining:
    atomic { !joined[me] -> locked[me] = true }
    STEP(joined[me] = true)
next:
    atomic { busy[me] = false; s = 0; j = 0; ok = false }
end_idle:
    atomic {
        has_work && has_room;
        busy[me] = true;
        if :: jstate[0] == QUEUED -> j = 0 :: else -> j = LAST_J fi     /* the better ticket */
    }
claim:
#ifdef NO_CAS
    STEP(if :: room_in(0) -> s = 0 :: room_in(LAST_S) -> s = LAST_S :: else -> goto next fi)
#endif
    STEP(
#ifndef NO_CAS
        if :: room_in(0) -> s = 0 :: room_in(LAST_S) -> s = LAST_S :: else -> goto next fi;
#endif
        if :: sstate[s] == UPLOADED -> claimed_away[djob[s]] = true :: else fi;
        sstate[s] = CLAIMED;
#ifdef TWO_STEP
        sowner[s] = NOBODY;
#else
        sowner[s] = me;
#endif
        sgen[s] = 1 - sgen[s];
        sealed[s] = false               /* a former seal is none of this generation */
    )
#ifdef TWO_STEP
    STEP(sowner[s] = me)
#endif
    STEP(pjob[me] = j)
job_take:
    STEP(JOB_MOVE(QUEUED, NOBODY, SYNTHESIS, me))
    if
    :: !ok ->
        STEP(pjob[me] = NONE)
        goto abandon
    :: else
    fi;
fill:
    STEP(MOVE(CLAIMED, me, FILLING, me); assert(ok))
    STEP(payload[s] = NONE)
#ifdef GIVEUP
    if
    :: !gave_up -> gave_up = true; goto job_return
    :: !gave_up -> gave_up = true; goto job_failing
    :: skip
    fi;
#endif
    STEP(payload[s] = j)
#ifdef EARLY_READY
    STEP(MOVE(FILLING, me, READY, me))
#endif
seal:
    STEP(assert(payload[s] == j); djob[s] = j; sealed[s] = true)
#ifndef EARLY_READY
ready:
    STEP(MOVE(FILLING, me, READY, me); assert(ok))
#endif
    STEP(pjob[me] = NONE)
#ifdef WAKE_FIRST
    STEP(if :: flag -> WAKE_SLEEPER :: else fi)
    STEP(bell = (bell + 1) % 4)
#else
ring:
    STEP(bell = (bell + 1) % 4)
wake:
    STEP(if :: flag -> WAKE_SLEEPER :: else fi)
#endif
    goto next;

job_return:
    STEP(JOB_MOVE(SYNTHESIS, me, QUEUED, NOBODY))
    STEP(pjob[me] = NONE)
    goto abandon;

job_failing:
    STEP(JOB_MOVE(SYNTHESIS, me, FAILING, me))
    if
    :: ok ->
job_failed:
        STEP(JOB_MOVE(FAILING, me, FAILED, NOBODY); assert(ok))
    :: else
    fi;
    STEP(pjob[me] = NONE)

abandon:
    STEP(assert(sowner[s] == me && (sstate[s] == CLAIMED || sstate[s] == FILLING));
         sstate[s] = FREE; sowner[s] = NOBODY)
    goto next;

died:                           /* the kernel drops the lock and makes the pidfd readable; another worker takes its place */
    atomic { locked[me] = false; busy[me] = false; s = 0; j = 0; ok = false }
    goto joining
}

proctype Daemon() {
    byte s, j, w, seen;
    bit g;
    bool ok, moved;

starting:
    DSTEP(flag = false)

recover:                        /* shm_slot_recover, a swap a slot; workers may claim UPLOADED ones meanwhile */
    do
    :: s < SLOTS ->
        DSTEP(
            if
            :: sstate[s] == UPLOADING || sstate[s] == UPLOADED -> sstate[s] = READY; sowner[s] = NOBODY
            :: sstate[s] == QUARANTINE || sstate[s] == WIPING -> sstate[s] = FREE; sowner[s] = NOBODY
            :: else
            fi;
            s++
        )
    :: else -> s = 0; break
    od;
job_recover:
    do
    :: j < JOBS ->
        DSTEP(
            if
            :: jstate[j] == PROVING && held(j) -> jstate[j] = SYNTHESIS; jowner[j] = NOBODY
            :: jstate[j] == PROVING && !held(j) ->
                assert(claimed_away[j]);        /* or a synthesis that was handed over is lost */
                jstate[j] = QUEUED
            :: unworked(j) && (jstate[j] == FAILING || (jstate[j] == SYNTHESIS && !held(j))) ->
                jstate[j] = QUEUED; jowner[j] = NOBODY
            :: jstate[j] == JFILLING -> jstate[j] = JFREE
            :: else
            fi;
            j++
        )
    :: else -> j = 0; break
    od;

loop:
    DSTEP(seen = bell; moved = false; s = 0; j = 0; w = 0; g = 0; ok = false)

#ifdef SUBMIT
    do
    :: j < JOBS && jstate[j] == JFREE ->
job_fill:
        DSTEP(jstate[j] = JFILLING)
job_queue:
        DSTEP(jstate[j] = QUEUED; jowner[j] = NOBODY; moved = true)
    :: j < JOBS && jstate[j] != JFREE -> j++
    :: else -> j = 0; break
    od;
#endif

    /* the dead */
    do
    :: w < WORKERS && dead(w) ->
        do
        :: s < SLOTS && sowner[s] == w && (sstate[s] == CLAIMED || sstate[s] == FILLING) ->
reap:
            DSTEP(sstate[s] = GIVEN_UP; sowner[s] = NOBODY)
#ifdef WIPE
            DSTEP(payload[s] = NONE)
            DSTEP(sstate[s] = FREE)
#endif
        :: s < SLOTS && !(sowner[s] == w && (sstate[s] == CLAIMED || sstate[s] == FILLING)) -> s++
        :: else -> s = 0; break
        od;
        DSTEP(pjob[w] = NONE)
        do
        :: j < JOBS && left_by(j, w) ->
job_reap:
            DSTEP(jstate[j] = QUEUED; jowner[j] = NOBODY)
        :: j < JOBS && !left_by(j, w) -> j++
        :: else -> j = 0; break
        od;
        DSTEP(joined[w] = false; moved = true)
    :: w < WORKERS && !dead(w) -> w++
    :: else -> w = 0; break
    od;

#ifdef CANCEL
    if
    :: !cancelled && !over(0) ->
        cancelled = true;
        if
        :: true ->
job_cancel:
            DSTEP(if :: !over(0) && jstate[0] != FAILING -> jstate[0] = CANCELLED; jowner[0] = NOBODY :: else fi)
        :: true ->
            DSTEP(ok = (!over(0) && jstate[0] != FAILING); if :: ok -> jstate[0] = FAILING; jowner[0] = NOBODY :: else fi)
            if :: ok -> DSTEP(JOB_MOVE(FAILING, NOBODY, FAILED, NOBODY); assert(ok)) :: else fi
        fi
    :: skip
    fi;
#endif

    /* one READY slot */
    if
    :: sstate[0] == READY -> s = 0
    :: sstate[LAST_S] == READY -> s = LAST_S
    :: else -> goto idle
    fi;
#ifdef SPOIL
    if
    :: !spoiled -> spoiled = true; sealed[s] = false
    :: skip
    fi;
    if
    :: !sealed[s] ->
quarantine:
        DSTEP(MOVE(READY, sowner[s], QUARANTINE, sowner[s]); assert(ok))
sweep:                          /* jobs that nobody works on and no slot holds: here, and at the daemon's belt */
        do
        :: j < JOBS ->
            DSTEP(
                if
                :: jstate[j] == SYNTHESIS && !held(j) && unworked(j) ->
                    jstate[j] = QUEUED; jowner[j] = NOBODY
                :: else
                fi;
                j++
            )
        :: else -> break
        od;
        goto loop
    :: else
    fi;
#endif
take:
    DSTEP(assert(sealed[s]);    /* what is READY is whole */
          MOVE(READY, sowner[s], UPLOADING, NOBODY); assert(ok); j = djob[s]; g = sgen[s])
job_proving:
    DSTEP(ok = (jstate[j] == SYNTHESIS); if :: ok -> jstate[j] = PROVING; jowner[j] = NOBODY :: else -> goto release fi)
    DSTEP(assert(payload[s] == j))      /* the proof is made from this */
uploaded:
    DSTEP(MOVE(UPLOADING, NOBODY, UPLOADED, NOBODY); assert(ok))
#ifdef RETRY
    if
    :: !retried ->
        retried = true;
job_retry:
        DSTEP(JOB_MOVE(PROVING, NOBODY, SYNTHESIS, NOBODY); if :: !ok -> goto release :: else fi)
requeue:
        DSTEP(ok = (sgen[s] == g && sstate[s] == UPLOADED); if :: ok -> sstate[s] = READY; goto loop :: else fi)
job_requeue:
        DSTEP(JOB_MOVE(SYNTHESIS, NOBODY, QUEUED, NOBODY); goto loop)
    :: skip
    fi;
#endif
#ifdef FREE_FIRST
    DSTEP(if :: sgen[s] == g && sstate[s] == UPLOADED -> sstate[s] = FREE :: else fi)
#endif
job_done:
    DSTEP(JOB_MOVE(PROVING, NOBODY, DONE, NOBODY))
release:                        /* a worker may have it already */
#ifdef WIPE
wipe:
    DSTEP(if :: sgen[s] == g && (sstate[s] == UPLOADED || sstate[s] == UPLOADING) -> sstate[s] = WIPING
             :: else -> goto loop fi)
    DSTEP(payload[s] = NONE)
wiped:
    DSTEP(assert(sstate[s] == WIPING); sstate[s] = FREE)
#else
free:
    DSTEP(if :: sgen[s] == g && (sstate[s] == UPLOADED || sstate[s] == UPLOADING) -> sstate[s] = FREE :: else fi)
#endif
    goto loop;

idle:
    if :: moved -> goto loop :: else fi;
asleep:
    DSTEP(flag = true)
recheck:
    DSTEP(if :: bell != seen -> goto up :: else fi)
park:                           /* the kernel compares the word and queues the sleeper in one step */
    DSTEP(if :: bell != seen -> goto up :: else -> parked = true; woken = false fi)
end_parked:
    atomic {
        if
        :: woken
        :: dead(0) || dead(LAST_W)              /* a pidfd */
#ifdef SPOIL
        :: orphan(0) || orphan(LAST_J) -> parked = false; flag = false; j = 0; goto sweep     /* the belt */
#endif
        :: restarts > 0 -> restarts--; goto died
        fi;
        parked = false; woken = false
    }
up:
    DSTEP(flag = false; goto loop);

died:                           /* another daemon takes the lock; the region is as it was */
    atomic { parked = false; woken = false; s = 0; w = 0; j = 0; g = 0; seen = 0; moved = false; ok = false }
    goto starting
}

/* The daemon sleeps, nothing is on its way to wake it, and no worker can move: then all must be over. */
#define quiet (parked && !woken && !dead(0) && !dead(LAST_W) && !busy[0] && !busy[LAST_W] && !(has_work && has_room) && \
               joined[0] && joined[LAST_W] && !belt_helps)
#define is_back(s) (sstate[s] == FREE || (sstate[s] == QUARANTINE && spoiled))
#define all_over (over(0) && over(LAST_J) && is_back(0) && is_back(LAST_S))

active proctype Observer() {
end_never:
    atomic { quiet && !all_over -> assert(false) }
}

init {
    byte i;
    atomic {
        for (i : 0 .. LAST_S) { sowner[i] = NOBODY; payload[i] = NONE }
        for (i : 0 .. LAST_J) {
            jowner[i] = NOBODY;
#ifndef SUBMIT
            jstate[i] = QUEUED
#endif
        }
        for (i : 0 .. LAST_W) { pjob[i] = NONE; run Worker(i) }
        run Daemon()
    }
}
