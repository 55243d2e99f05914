;; A witness program with circom 2's ABI whose behaviour follows the value of its only input, "mode" (one value):
;;   0 a witness [1, 7]   1 loops for ever   2 reads outside its memory   3 recurses for ever   4 unreachable
;;   5 divides by zero    6 grows its memory until that is refused, then reports exception 5
;;   7 gives a witness that does not begin with 1      8 logs "mode is" and a value, then as 0
;;   9 reports a failed assertion with two lines of text      10 calls through an empty table
;;   11 gives a value at the prime      12 reports an exception that nobody knows
(module
  (import "runtime" "exceptionHandler" (func $exception (param i32)))
  (import "runtime" "printErrorMessage" (func $print_error))
  (import "runtime" "writeBufferMessage" (func $write_message))
  (import "runtime" "showSharedRWMemory" (func $show_shared))
  (type $void (func))
  (table 1 funcref)
  (memory (export "memory") 1)
  ;; 0: the shared value; 64: BN254's r; 128, 256: two lines; 320: log text; 400: its end
  (data (i32.const 64) "\01\00\00\f0\93\f5\e1\43\91\70\b9\79\48\e8\33\28\5d\58\81\81\b6\45\50\b8\29\a0\31\e1\72\4e\64\30")
  (data (i32.const 128) "Error in template Inner_0 line: 12\n\00")
  (data (i32.const 256) "Error in template Odd_1 line: 7\00")
  (data (i32.const 320) "mode is\00")
  (data (i32.const 400) "\n\00")
  (global $text (mut i32) (i32.const 0))
  (global $mode (mut i32) (i32.const 0))
  (global $zero (mut i32) (i32.const 0))

  (func (export "getVersion") (result i32) i32.const 2)
  (func (export "init") (param i32) (global.set $mode (i32.const 0)))
  (func (export "getInputSize") (result i32) i32.const 1)
  (func (export "getWitnessSize") (result i32) i32.const 2)
  (func (export "getFieldNumLen32") (result i32) i32.const 8)
  ;; FNV-1a 64 of "mode" is 0x0d3deba2c41dadb2
  (func (export "getInputSignalSize") (param $msb i32) (param $lsb i32) (result i32)
    (i32.and (i32.eq (local.get $msb) (i32.const 0x0d3deba2)) (i32.eq (local.get $lsb) (i32.const 0xc41dadb2))))
  (func (export "writeSharedRWMemory") (param $i i32) (param $v i32)
    (i32.store (i32.mul (local.get $i) (i32.const 4)) (local.get $v)))
  (func (export "readSharedRWMemory") (param $i i32) (result i32)
    (i32.load (i32.mul (local.get $i) (i32.const 4))))
  (func $copy_prime (export "getRawPrime")
    (i64.store (i32.const 0) (i64.load (i32.const 64))) (i64.store (i32.const 8) (i64.load (i32.const 72)))
    (i64.store (i32.const 16) (i64.load (i32.const 80))) (i64.store (i32.const 24) (i64.load (i32.const 88))))
  (func $shared (param $v i64)
    (i64.store (i32.const 0) (local.get $v)) (i64.store (i32.const 8) (i64.const 0))
    (i64.store (i32.const 16) (i64.const 0)) (i64.store (i32.const 24) (i64.const 0)))
  (func (export "getMessageChar") (result i32)
    (i32.load8_u (global.get $text))
    (global.set $text (i32.add (global.get $text) (i32.const 1))))

  ;; it stores behind the call, so that no compiler makes a loop of it
  (func $recurse (param $n i32) (result i32)
    (i32.store (i32.const 512) (call $recurse (i32.add (local.get $n) (i32.const 1))))
    (i32.load (i32.const 516)))
  (func $grow
    (loop $more (br_if $more (i32.ne (memory.grow (i32.const 1)) (i32.const -1))))
    (call $exception (i32.const 5)))
  (func $assert
    (global.set $text (i32.const 128)) (call $print_error)
    (global.set $text (i32.const 256)) (call $print_error)
    (call $exception (i32.const 4)))
  (func $log
    (global.set $text (i32.const 320)) (call $write_message)
    (call $show_shared)
    (global.set $text (i32.const 400)) (call $write_message))

  (func (export "setInputSignal") (param i32 i32 i32)
    (global.set $mode (i32.load (i32.const 0)))
    (if (i32.eq (global.get $mode) (i32.const 1)) (then (loop $again (br $again))))
    (if (i32.eq (global.get $mode) (i32.const 2)) (then (drop (i32.load offset=0xfffffff0 (i32.const 0x7fffffff)))))
    (if (i32.eq (global.get $mode) (i32.const 3)) (then (drop (call $recurse (i32.const 0)))))
    (if (i32.eq (global.get $mode) (i32.const 4)) (then (unreachable)))
    (if (i32.eq (global.get $mode) (i32.const 5)) (then (drop (i32.div_u (i32.const 1) (global.get $zero)))))
    (if (i32.eq (global.get $mode) (i32.const 6)) (then (call $grow)))
    (if (i32.eq (global.get $mode) (i32.const 8)) (then (call $log)))
    (if (i32.eq (global.get $mode) (i32.const 9)) (then (call $assert)))
    (if (i32.eq (global.get $mode) (i32.const 10)) (then (call_indirect (type $void) (i32.const 0))))
    (if (i32.eq (global.get $mode) (i32.const 12)) (then (call $exception (i32.const 99)))))

  (func (export "getWitness") (param $i i32)
    (if (local.get $i)
      (then (if (i32.eq (global.get $mode) (i32.const 11)) (then (call $copy_prime)) (else (call $shared (i64.const 7)))))
      (else (call $shared (select (i64.const 2) (i64.const 1) (i32.eq (global.get $mode) (i32.const 7)))))))
)
