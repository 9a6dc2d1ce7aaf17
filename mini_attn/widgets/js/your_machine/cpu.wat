(module
  ;; Reading: four running sums of four numbers each, 64 bytes a round.
  (func $read (export "read") (param $at i32) (param $end i32) (result f32)
    (local $a v128) (local $b v128) (local $c v128) (local $d v128)
    (loop $more
      (local.set $a (f32x4.add (local.get $a) (v128.load (local.get $at))))
      (local.set $b (f32x4.add (local.get $b) (v128.load offset=16 (local.get $at))))
      (local.set $c (f32x4.add (local.get $c) (v128.load offset=32 (local.get $at))))
      (local.set $d (f32x4.add (local.get $d) (v128.load offset=48 (local.get $at))))
      (br_if $more (i32.lt_u
        (local.tee $at (i32.add (local.get $at) (i32.const 64))) (local.get $end))))
    (call $sum (f32x4.add
      (f32x4.add (local.get $a) (local.get $b)) (f32x4.add (local.get $c) (local.get $d)))))

  (func $sum (param $x v128) (result f32)
    (f32.add
      (f32.add (f32x4.extract_lane 0 (local.get $x)) (f32x4.extract_lane 1 (local.get $x)))
      (f32.add (f32x4.extract_lane 2 (local.get $x)) (f32x4.extract_lane 3 (local.get $x)))))

  ;; Arithmetic: twelve chains of multiply-adds that don't wait for each other and read nothing,
  ;; a = a * by + plus, 96 FLOPs a round.
  (func $multiply_add (export "multiply_add") (param $rounds i32) (param $start f32) (result f32)
    (local $by v128) (local $plus v128)
    CHAINS.locals
    (local.set $by (f32x4.splat (f32.const 0.75)))
    (local.set $plus (f32x4.splat (f32.const 0.25)))
    CHAINS.start
    (loop $more
      CHAINS.step
      (br_if $more (i32.lt_u (i32.const 0)
        (local.tee $rounds (i32.sub (local.get $rounds) (i32.const 1))))))
    (f32x4.extract_lane 3 CHAINS.sum))

  ;; e to the x for four numbers from -87 to 0: 2^n times a polynomial of what remains.
  (func $exp (param $x v128) (result v128) (local $n v128) (local $p v128)
    (local.set $x (f32x4.max (local.get $x) (f32x4.splat (f32.const -87))))
    (local.set $n (f32x4.nearest
      (f32x4.mul (local.get $x) (f32x4.splat (f32.const 1.44269504)))))
    (local.set $x (f32x4.sub (local.get $x)
      (f32x4.mul (local.get $n) (f32x4.splat (f32.const 0.693359375)))))
    (local.set $x (f32x4.add (local.get $x)
      (f32x4.mul (local.get $n) (f32x4.splat (f32.const 2.12194440e-4)))))
    (local.set $p (f32x4.splat (f32.const 1.9875691500e-4)))
    (local.set $p (f32x4.add (f32x4.mul (local.get $p) (local.get $x))
      (f32x4.splat (f32.const 1.3981999507e-3))))
    (local.set $p (f32x4.add (f32x4.mul (local.get $p) (local.get $x))
      (f32x4.splat (f32.const 8.3334519073e-3))))
    (local.set $p (f32x4.add (f32x4.mul (local.get $p) (local.get $x))
      (f32x4.splat (f32.const 4.1665795894e-2))))
    (local.set $p (f32x4.add (f32x4.mul (local.get $p) (local.get $x))
      (f32x4.splat (f32.const 1.6666665459e-1))))
    (local.set $p (f32x4.add (f32x4.mul (local.get $p) (local.get $x))
      (f32x4.splat (f32.const 5.0000001201e-1))))
    (local.set $p (f32x4.add
      (f32x4.mul (f32x4.mul (local.get $p) (local.get $x)) (local.get $x))
      (f32x4.add (local.get $x) (f32x4.splat (f32.const 1)))))
    (f32x4.mul (local.get $p) (i32x4.shl
      (i32x4.add (i32x4.trunc_sat_f32x4_s (local.get $n)) (i32x4.splat (i32.const 127)))
      (i32.const 23))))

  ;; Decode attention of the query heads that share one key/value head, in one pass over the
  ;; keys, 32 at a time. $room holds per head 32 scores, and behind all of them its running
  ;; maximum and sum. The running outputs are in $out. The bytes of a value are a multiple of 64.
  (func $attend (export "attend")
    (param $q i32) (param $k i32) (param $v i32) (param $out i32) (param $room i32)
    (param $heads i32) (param $keys i32) (param $key_bytes i32) (param $value_bytes i32)
    (param $stride i32) (param $scale f32)
    (local $n i32) (local $state i32)
    (local.set $state (i32.add (local.get $room) (i32.shl (local.get $heads) (i32.const 7))))
    (call $clear (local.get $out) (local.get $state) (local.get $heads) (local.get $value_bytes))
    (loop $tile
      (local.set $n (select (i32.const 32) (local.get $keys)
        (i32.lt_u (i32.const 32) (local.get $keys))))
      (call $scores (local.get $q) (local.get $k) (local.get $room) (local.get $heads)
        (local.get $n) (local.get $key_bytes) (local.get $scale))
      (call $weigh (local.get $v) (local.get $out) (local.get $room) (local.get $state)
        (local.get $heads) (local.get $n) (local.get $value_bytes) (local.get $stride))
      (local.set $k (i32.add (local.get $k) (i32.mul (local.get $n) (local.get $key_bytes))))
      (local.set $v (i32.add (local.get $v) (i32.mul (local.get $n) (local.get $stride))))
      (br_if $tile (i32.lt_u (i32.const 0)
        (local.tee $keys (i32.sub (local.get $keys) (local.get $n))))))
    (call $divide (local.get $out) (local.get $state) (local.get $heads) (local.get $value_bytes)))

  ;; Nothing has been read: a maximum below every score, no weight, no output.
  (func $clear (param $out i32) (param $state i32) (param $heads i32) (param $value_bytes i32)
    (local $end i32)
    (local.set $end (i32.add (local.get $out) (i32.mul (local.get $heads) (local.get $value_bytes))))
    (loop $more
      (v128.store (local.get $out) (f32x4.splat (f32.const 0)))
      (br_if $more (i32.lt_u
        (local.tee $out (i32.add (local.get $out) (i32.const 16))) (local.get $end))))
    (loop $head
      (f32.store (local.get $state) (f32.const -1e30))
      (f32.store offset=4 (local.get $state) (f32.const 0))
      (local.set $state (i32.add (local.get $state) (i32.const 8)))
      (br_if $head (i32.lt_u (i32.const 0)
        (local.tee $heads (i32.sub (local.get $heads) (i32.const 1)))))))

  ;; A tile's scores: each key is read once and meets every query of the heads that share it.
  (func $scores
    (param $q i32) (param $k i32) (param $room i32) (param $heads i32) (param $n i32)
    (param $key_bytes i32) (param $scale f32)
    (local $head i32) (local $at i32) (local $to i32) (local $a v128) (local $b v128)
    (call $hide (local.get $room) (local.get $heads))
    (loop $key
      (local.set $head (i32.const 0))
      (local.set $to (local.get $room))
      (loop $query
        (local.set $at (i32.const 0))
        (local.set $a (f32x4.splat (f32.const 0)))
        (local.set $b (f32x4.splat (f32.const 0)))
        (loop $more
          (local.set $a (f32x4.add (local.get $a) (f32x4.mul
            (v128.load (i32.add (local.get $k) (local.get $at)))
            (v128.load (i32.add (local.get $q) (local.get $at))))))
          (local.set $b (f32x4.add (local.get $b) (f32x4.mul
            (v128.load offset=16 (i32.add (local.get $k) (local.get $at)))
            (v128.load offset=16 (i32.add (local.get $q) (local.get $at))))))
          (br_if $more (i32.lt_u
            (local.tee $at (i32.add (local.get $at) (i32.const 32))) (local.get $key_bytes))))
        (f32.store (local.get $to) (f32.mul (local.get $scale)
          (call $sum (f32x4.add (local.get $a) (local.get $b)))))
        (local.set $q (i32.add (local.get $q) (local.get $key_bytes)))
        (local.set $to (i32.add (local.get $to) (i32.const 128)))
        (br_if $query (i32.lt_u
          (local.tee $head (i32.add (local.get $head) (i32.const 1))) (local.get $heads))))
      (local.set $q (i32.sub (local.get $q) (i32.mul (local.get $heads) (local.get $key_bytes))))
      (local.set $k (i32.add (local.get $k) (local.get $key_bytes)))
      (local.set $room (i32.add (local.get $room) (i32.const 4)))
      (br_if $key (i32.lt_u (i32.const 0)
        (local.tee $n (i32.sub (local.get $n) (i32.const 1)))))))

  ;; Places of a tile that no key fills.
  (func $hide (param $room i32) (param $heads i32) (local $end i32)
    (local.set $end (i32.add (local.get $room) (i32.shl (local.get $heads) (i32.const 7))))
    (loop $more
      (v128.store (local.get $room) (f32x4.splat (f32.const -1e30)))
      (br_if $more (i32.lt_u
        (local.tee $room (i32.add (local.get $room) (i32.const 16))) (local.get $end)))))

  ;; Takes a tile's scores and values into the running maximum, sum and output of each head.
  (func $weigh
    (param $v i32) (param $out i32) (param $room i32) (param $state i32) (param $heads i32)
    (param $n i32) (param $value_bytes i32) (param $stride i32)
    (local $high f32) (local $shrink f32)
    (loop $head
      (local.set $high (f32.max (f32.load (local.get $state)) (call $highest (local.get $room))))
      (local.set $shrink (f32x4.extract_lane 0 (call $exp
        (f32x4.splat (f32.sub (f32.load (local.get $state)) (local.get $high))))))
      (f32.store (local.get $state) (local.get $high))
      (f32.store offset=4 (local.get $state) (f32.add
        (f32.mul (f32.load offset=4 (local.get $state)) (local.get $shrink))
        (call $weights (local.get $room) (local.get $high))))
      (call $add_values (local.get $v) (local.get $out) (local.get $room) (local.get $n)
        (local.get $value_bytes) (local.get $stride) (local.get $shrink))
      (local.set $room (i32.add (local.get $room) (i32.const 128)))
      (local.set $state (i32.add (local.get $state) (i32.const 8)))
      (local.set $out (i32.add (local.get $out) (local.get $value_bytes)))
      (br_if $head (i32.lt_u (i32.const 0)
        (local.tee $heads (i32.sub (local.get $heads) (i32.const 1)))))))

  (func $highest (param $at i32) (result f32) (local $top f32) (local $n i32)
    (local.set $top (f32.const -1e30))
    (local.set $n (i32.const 32))
    (loop $more
      (local.set $top (f32.max (local.get $top) (f32.load (local.get $at))))
      (local.set $at (i32.add (local.get $at) (i32.const 4)))
      (br_if $more (i32.lt_u (i32.const 0)
        (local.tee $n (i32.sub (local.get $n) (i32.const 1))))))
    (local.get $top))

  ;; Scores become weights, in place; gives their sum.
  (func $weights (param $at i32) (param $high f32) (result f32)
    (local $all v128) (local $four v128) (local $end i32)
    (local.set $end (i32.add (local.get $at) (i32.const 128)))
    (loop $more
      (local.set $four (call $exp
        (f32x4.sub (v128.load (local.get $at)) (f32x4.splat (local.get $high)))))
      (v128.store (local.get $at) (local.get $four))
      (local.set $all (f32x4.add (local.get $all) (local.get $four)))
      (br_if $more (i32.lt_u
        (local.tee $at (i32.add (local.get $at) (i32.const 16))) (local.get $end))))
    (call $sum (local.get $all)))

  ;; out = out * shrink + the tile's weighted values, sixteen columns at a time in registers.
  (func $add_values
    (param $v i32) (param $out i32) (param $weights i32) (param $n i32) (param $value_bytes i32)
    (param $stride i32) (param $shrink f32)
    (local $w v128) (local $a v128) (local $b v128) (local $c v128) (local $d v128)
    (local $end i32) (local $at i32) (local $value i32) (local $last i32)
    (local.set $end (i32.add (local.get $out) (local.get $value_bytes)))
    (local.set $last (i32.add (local.get $weights) (i32.shl (local.get $n) (i32.const 2))))
    (loop $columns
      (local.set $w (f32x4.splat (local.get $shrink)))
      (local.set $a (f32x4.mul (local.get $w) (v128.load (local.get $out))))
      (local.set $b (f32x4.mul (local.get $w) (v128.load offset=16 (local.get $out))))
      (local.set $c (f32x4.mul (local.get $w) (v128.load offset=32 (local.get $out))))
      (local.set $d (f32x4.mul (local.get $w) (v128.load offset=48 (local.get $out))))
      (local.set $at (local.get $weights))
      (local.set $value (local.get $v))
      (loop $key
        (local.set $w (v128.load32_splat (local.get $at)))
        (local.set $a (f32x4.add (local.get $a)
          (f32x4.mul (local.get $w) (v128.load (local.get $value)))))
        (local.set $b (f32x4.add (local.get $b)
          (f32x4.mul (local.get $w) (v128.load offset=16 (local.get $value)))))
        (local.set $c (f32x4.add (local.get $c)
          (f32x4.mul (local.get $w) (v128.load offset=32 (local.get $value)))))
        (local.set $d (f32x4.add (local.get $d)
          (f32x4.mul (local.get $w) (v128.load offset=48 (local.get $value)))))
        (local.set $value (i32.add (local.get $value) (local.get $stride)))
        (br_if $key (i32.lt_u
          (local.tee $at (i32.add (local.get $at) (i32.const 4))) (local.get $last))))
      (v128.store (local.get $out) (local.get $a))
      (v128.store offset=16 (local.get $out) (local.get $b))
      (v128.store offset=32 (local.get $out) (local.get $c))
      (v128.store offset=48 (local.get $out) (local.get $d))
      (local.set $v (i32.add (local.get $v) (i32.const 64)))
      (br_if $columns (i32.lt_u
        (local.tee $out (i32.add (local.get $out) (i32.const 64))) (local.get $end)))))

  ;; At the end each output is divided by its sum of weights.
  (func $divide (param $out i32) (param $state i32) (param $heads i32) (param $value_bytes i32)
    (local $end i32)
    (loop $head
      (local.set $end (i32.add (local.get $out) (local.get $value_bytes)))
      (loop $more
        (v128.store (local.get $out) (f32x4.div (v128.load (local.get $out))
          (v128.load32_splat offset=4 (local.get $state))))
        (br_if $more (i32.lt_u
          (local.tee $out (i32.add (local.get $out) (i32.const 16))) (local.get $end))))
      (local.set $state (i32.add (local.get $state) (i32.const 8)))
      (br_if $head (i32.lt_u (i32.const 0)
        (local.tee $heads (i32.sub (local.get $heads) (i32.const 1))))))))
