! Puts and reads scalars and arrays of each rank and kind. Argument: an empty directory.
program ranks
  use, intrinsic :: iso_c_binding
  use blobio
  implicit none
  character(len=1024) :: dir
  integer :: failures = 0

  call get_command_argument(1, dir)
  call whole()
  call decomposed()
  call appended()
  if (failures > 0) stop 1

contains

  subroutine ok(rc, what)
    integer, intent(in) :: rc
    character(len=*), intent(in) :: what
    if (rc == blobio_ok) return
    failures = failures + 1
    print '(4a)', what, ': ', blobio_last_error()
  end subroutine ok

  subroutine yes(good, what)
    logical, intent(in) :: good
    character(len=*), intent(in) :: what
    if (good) return
    failures = failures + 1
    print '(2a)', what, ' is wrong'
  end subroutine yes

  ! Variables without a decomposition: one without dimensions, and one with five
  ! dimensions.
  subroutine whole()
    type(blobio_file) :: f
    integer :: d(5), v(0:5, 4), types(4) = [blobio_float, blobio_double, blobio_int, blobio_int64], k, n, t, vt
    character(len=8) :: name
    real(4) :: r4(2, 3, 2, 2, 2), s4
    real(8) :: r8(2, 3, 2, 2, 2), s8
    integer(4) :: i4(2, 3, 2, 2, 2), j4
    integer(8) :: i8(2, 3, 2, 2, 2), j8
    integer(c_int64_t) :: committed
    i4 = reshape([(n, n = 1, 48)], [2, 3, 2, 2, 2])
    i8 = i4 + 2_8**40
    r4 = real(i4) / 4
    r8 = i4 / 3d0
    call ok(blobio_create(trim(dir) // '/whole', f), 'create')
    do n = 1, 5
      write (name, '(a, i0)') 'd', n
      call ok(blobio_def_dim(f, name, size(i4, n), d(n)), 'dim')
    end do
    call ok(blobio_def_dim(f, 'time', blobio_unlimited, t), 'dim time')
    do k = 1, 4
      do n = 0, 5
        write (name, '(a, i0, a, i0)') 'v', k, '_', n
        call ok(blobio_def_var(f, name, types(k), d(:n), v(n, k)), 'var')
      end do
    end do
    call ok(blobio_def_var(f, 'time', blobio_double, [t], vt), 'var time')
    call ok(blobio_put_att(f, vt, 'units', 'days'), 'att')
    call ok(blobio_put_att(f, vt, 'calendar', 'noleap'), 'att')
    call ok(blobio_enddef(f), 'enddef')
    call ok(blobio_put(f, v(0, 1), 1.5), 'put scalar')
    call ok(blobio_put(f, v(4, 1), r4(:, :, :, :, 2)), 'put r4')
    call ok(blobio_put(f, v(5, 1), r4), 'put r4')
    call ok(blobio_put(f, v(0, 2), 2.5d0), 'put scalar')
    call ok(blobio_put(f, v(4, 2), r8(:, :, :, :, 2)), 'put r8')
    call ok(blobio_put(f, v(5, 2), r8), 'put r8')
    call ok(blobio_put(f, v(0, 3), 3), 'put scalar')
    call ok(blobio_put(f, v(4, 3), i4(:, :, :, :, 2)), 'put i4')
    call ok(blobio_put(f, v(5, 3), i4), 'put i4')
    call ok(blobio_put(f, v(0, 4), 4_8), 'put scalar')
    call ok(blobio_put(f, v(4, 4), i8(:, :, :, :, 2)), 'put i8')
    call ok(blobio_put(f, v(5, 4), i8), 'put i8')
    do n = 1, 3
      call ok(blobio_put(f, vt, 0.5d0 * n, n), 'put time')
      if (n == 2) then
        call ok(blobio_commit(f), 'commit')
      else
        call ok(blobio_commit_async(f), 'commit_async')
      end if
    end do
    call ok(blobio_flush_async(f), 'flush_async')
    call ok(blobio_wait(f), 'wait')
    call ok(blobio_inq_committed(f, committed), 'inq_committed')
    if (committed /= 3) error stop 'not all is committed'
    call ok(blobio_close(f), 'close')

    call ok(blobio_open(trim(dir) // '/whole', f), 'open')
    call rank4(f, v)
    call rank5(f, v)
    call ok(blobio_get_var(f, v(0, 1), s4), 'get scalar')
    call ok(blobio_get_var(f, v(0, 2), s8), 'get scalar')
    call ok(blobio_get_var(f, v(0, 3), j4), 'get scalar')
    call ok(blobio_get_var(f, v(0, 4), j8), 'get scalar')
    call yes(s4 == 1.5 .and. s8 == 2.5d0 .and. j4 == 3 .and. j8 == 4, 'a scalar')
    call ok(blobio_get_var(f, vt, s8, [2], [1]), 'get time of a record')
    call yes(s8 == 1d0, 'time')
    call ok(blobio_inq_attname(f, vt, 2, name), 'inq_attname')
    call yes(name == 'calendar', 'name of an attribute')
    call yes(blobio_inq_attname(f, vt, 3, name) /= blobio_ok, 'a third attribute')
    call all_at_once(f)
    call ok(blobio_close(f), 'close')
  end subroutine whole

  ! The state, and the header in the form of a CDF-5 file, which contains the names.
  subroutine all_at_once(f)
    type(blobio_file), intent(in) :: f
    type(blobio_file) :: none
    character(len=32) :: state
    character(len=40) :: wide
    character(len=31) :: narrow
    character(len=:), allocatable :: text
    integer(1), allocatable :: header(:)
    integer :: n
    call ok(blobio_inq_state(f, state), 'inq_state')
    call yes(verify(state, '0123456789abcdef') == 0, 'the state')
    call ok(blobio_inq_state(f, wide), 'inq_state of a longer text')
    call yes(wide == state, 'the state in a longer text')
    call yes(blobio_inq_state(f, narrow) == blobio_esmall .and. narrow == ' ', 'the state in a shorter text')
    call ok(blobio_get_header(f, header), 'get_header')
    allocate (character(len=size(header)) :: text)
    do n = 1, size(header)
      text(n:n) = char(iand(int(header(n)), 255))
    end do
    call yes(text(1:4) == 'CDF' // char(5), 'the header')
    call yes(index(text, 'v4_5') > 0 .and. index(text, 'noleap') > 0, 'what the header holds')
    call yes(blobio_get_header(none, header) == blobio_ehandle .and. .not. allocated(header), 'the header of nothing')
    call yes(blobio_inq_state(none, state) == blobio_ehandle .and. state == ' ', 'the state of nothing')
  end subroutine all_at_once

  subroutine rank4(f, v)
    type(blobio_file), intent(in) :: f
    integer, intent(in) :: v(0:5, 4)
    real(4) :: r4(2, 3, 2, 2)
    real(8) :: r8(2, 3, 2, 2)
    integer(4) :: i4(2, 3, 2, 2), want(2, 3, 2, 2)
    integer(8) :: i8(2, 3, 2, 2)
    integer :: n
    want = reshape([(n, n = 25, 48)], [2, 3, 2, 2])
    call ok(blobio_get_var(f, v(4, 1), r4), 'get r4')
    call ok(blobio_get_var(f, v(4, 2), r8), 'get r8')
    call ok(blobio_get_var(f, v(4, 3), i4), 'get i4')
    call ok(blobio_get_var(f, v(4, 4), i8), 'get i8')
    call yes(all(r4 == real(want) / 4), 'r4 of rank 4')
    call yes(all(r8 == want / 3d0), 'r8 of rank 4')
    call yes(all(i4 == want), 'i4 of rank 4')
    call yes(all(i8 == want + 2_8**40), 'i8 of rank 4')
  end subroutine rank4

  subroutine rank5(f, v)
    type(blobio_file), intent(in) :: f
    integer, intent(in) :: v(0:5, 4)
    real(4) :: r4(2, 3, 2, 2, 2)
    real(8) :: r8(2, 3, 2, 2, 2)
    integer(4) :: i4(2, 3, 2, 2, 2), want(2, 3, 2, 2, 2)
    integer(8) :: i8(2, 3, 2, 2, 2)
    integer :: n
    want = reshape([(n, n = 1, 48)], [2, 3, 2, 2, 2])
    call ok(blobio_get_var(f, v(5, 1), r4), 'get r4')
    call ok(blobio_get_var(f, v(5, 2), r8), 'get r8')
    call ok(blobio_get_var(f, v(5, 3), i4), 'get i4')
    call ok(blobio_get_var(f, v(5, 4), i8), 'get i8')
    call yes(all(r4 == real(want) / 4), 'r4 of rank 5')
    call yes(all(r8 == want / 3d0), 'r8 of rank 5')
    call yes(all(i4 == want), 'i4 of rank 5')
    call yes(all(i8 == want + 2_8**40), 'i8 of rank 5')
  end subroutine rank5

  ! A wrong size is an error.
  subroutine wrong(rc, part)
    integer, intent(in) :: rc
    character(len=*), intent(in) :: part
    if (rc == blobio_einval .and. index(blobio_last_error(), part) > 0) return
    failures = failures + 1
    print '(a, i0, 4a)', 'wrong size: ', rc, ' ', blobio_last_error(), ', want ', part
  end subroutine wrong

  ! A decomposed variable, whose data in memory are arrays of rank 4 and 5.
  subroutine decomposed()
    type(blobio_file) :: f
    integer :: d, m, v, n
    integer(c_int64_t) :: dof(48), bytes, limit
    integer(4) :: i4(2, 3, 2, 2, 2)
    real(8) :: r8(4, 3, 2, 2)
    dof = [(49 - n, n = 1, 48)]
    i4 = reshape([(n, n = 1, 48)], [2, 3, 2, 2, 2])
    call ok(blobio_create(trim(dir) // '/decomposed', f), 'create')
    call ok(blobio_def_dim(f, 'n', 48, d), 'dim')
    call ok(blobio_def_decomp(f, [d], dof, m), 'decomposition')
    call ok(blobio_def_var(f, 'v', blobio_int, [d], v, m), 'var')
    call ok(blobio_enddef(f), 'enddef')
    call wrong(blobio_put(f, v, r8(:, :, :, 1)), '48')
    call wrong(blobio_put_part(f, v, [1, 1], [3], r8(1, :, 1, 1)), 'start has 2 elements, want as many as count, 1')
    call ok(blobio_put(f, v, i4), 'put')
    call ok(blobio_inq_copies(f, bytes, limit), 'inq_copies')
    call yes(bytes >= 48 * 4 .and. limit == 2_8**31, 'bytes in copies')
    call ok(blobio_close(f), 'close')
    call ok(blobio_open(trim(dir) // '/decomposed', f), 'open')
    call wrong(blobio_get_darray(f, v, dof, r8(:, :, :, 1)), 'values has 24 elements, want as many as compdof, 48')
    call wrong(blobio_get_darray(f, v, dof(:3), i4), 'values has 48 elements, want as many as compdof, 3')
    call wrong(blobio_get_var(f, v, r8, [1, 1], [48]), 'start has 2 elements, want as many as dimensions, 1')
    call wrong(blobio_get_var(f, v, r8, [1]), 'start without count')
    call wrong(blobio_get_var(f, v, i4(:, :, :, :, 1), [1], [48]), '48')
    i4 = 0
    call ok(blobio_get_darray(f, v, dof, i4), 'get of rank 5')
    call yes(all(i4 == reshape([(n, n = 1, 48)], [2, 3, 2, 2, 2])), 'what is read by decomposition')
    call ok(blobio_get_darray(f, v, dof, r8), 'get of rank 4')
    call yes(all(r8 == reshape([(n, n = 1, 48)], [4, 3, 2, 2])), 'what is read by decomposition')
    call yes(blobio_get_darray(f, v, dof, r8, collective=.true.) == blobio_estate, 'a read of all ranks without collective=yes')
    call ok(blobio_close(f), 'close')
    call ok(blobio_open(trim(dir) // '/decomposed', f, 'collective=yes'), 'open')
    r8 = 0
    call ok(blobio_get_darray(f, v, dof, r8, collective=.true.), 'get of all ranks')
    call yes(all(r8 == reshape([(n, n = 1, 48)], [4, 3, 2, 2])), 'what all ranks read')
    dof(5) = 0
    r8(1, 2, 1, 1) = -1
    call ok(blobio_get_darray(f, v, dof, r8, collective=.true.), 'get with a hole')
    call yes(r8(1, 2, 1, 1) == -1 .and. r8(2, 2, 1, 1) == 6, 'what is read beside a hole')
    call wrong(blobio_get_darray(f, v, dof(:3), r8, collective=.true.), 'want as many as compdof, 3')
    call ok(blobio_close(f), 'close')
  end subroutine decomposed

  ! Appends records, with a new dimension and variable; puts attributes after enddef.
  subroutine appended()
    type(blobio_file) :: f
    integer :: t, d, k, m, v, p, n
    integer(c_int64_t) :: dof(6)
    integer(4) :: pair(2), both(6, 2)
    real(8) :: range(2)
    character(len=8) :: text
    dof = [(7 - n, n = 1, 6)]
    call ok(blobio_create(trim(dir) // '/appended', f, 'layout=process'), 'create')
    call ok(blobio_def_dim(f, 'time', blobio_unlimited, t), 'dim')
    call ok(blobio_def_dim(f, 'n', 6, d), 'dim')
    call ok(blobio_def_decomp(f, [d], dof, m), 'decomposition')
    call ok(blobio_def_var(f, 'v', blobio_int, [d, t], v, m), 'var')
    call ok(blobio_put_att(f, blobio_global, 'title', 'first'), 'att')
    call ok(blobio_enddef(f), 'enddef')
    call ok(blobio_put(f, v, int(dof), 1), 'put')
    call ok(blobio_close(f), 'close')

    call ok(blobio_append(trim(dir) // '/appended', f), 'append')
    call wrong(blobio_def_var(f, 'fixed', blobio_int, [d], p), 'lacks the unlimited dimension')
    call ok(blobio_abort(f), 'abort')
    call ok(blobio_append(trim(dir) // '/appended', f), 'append')
    call ok(blobio_def_decomp(f, [integer ::], dof(6:1:-1), m), 'decomposition of before')
    call ok(blobio_def_dim(f, 'two', 2, k), 'new dim')
    call ok(blobio_def_var(f, 'pair', blobio_int, [k, t], p), 'new var')
    call ok(blobio_put_att(f, p, '_FillValue', [-3]), 'att of a new var')
    call ok(blobio_enddef(f), 'enddef')
    call ok(blobio_put_att(f, blobio_global, 'title', 'second'), 'att after enddef')
    call ok(blobio_put_att(f, v, 'range', [0.5d0, 6d0]), 'att after enddef')
    call wrong(blobio_put_att(f, v, '_FillValue', 1), 'cannot be changed')
    call ok(blobio_put(f, v, 10 * int(dof(6:1:-1)), 2), 'put')
    call ok(blobio_put(f, p, [8, 9], 2), 'put')
    call ok(blobio_close(f), 'close')

    call ok(blobio_open(trim(dir) // '/appended', f), 'open')
    call ok(blobio_get_att(f, blobio_global, 'title', text), 'get_att')
    call ok(blobio_get_att(f, v, 'range', range), 'get_att')
    call yes(text == 'second' .and. range(2) == 6, 'attributes')
    call ok(blobio_get_var(f, v, both, [1, 1], [6, 2]), 'get_var')
    call yes(all(both(:, 1) == [(n, n = 1, 6)]) .and. all(both(:, 2) == [(10 * n, n = 1, 6)]), 'two records')
    call ok(blobio_get_var(f, p, pair, [1, 1], [2, 1]), 'get_var')
    call yes(all(pair == -3), 'the record before')
    call ok(blobio_get_var(f, p, pair, [1, 2], [2, 1]), 'get_var')
    call yes(all(pair == [8, 9]), 'the record with the new variable')
    call ok(blobio_close(f), 'close')
  end subroutine appended

end program ranks
