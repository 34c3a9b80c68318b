! The modules that programs use. pio has everything; the other modules are parts of pio, under the names of PIO's
! modules.

! All procedures for dimensions, variables and attributes.
module pio_nf
  use pio_of_file
  use pio_of_ncid
  use pio_of_vdesc
  use pio_of_varid
  use pio_of_fh
  use pio_of_text
  use pio_of_byte
  use pio_of_short
  use pio_of_int
  use pio_of_int64
  use pio_of_real
  use pio_of_double
  use pio_of_logical
  use pio_systems, only: pio_strerror, pio_set_log_level, pio_set_chunk_cache, pio_get_chunk_cache, pio_copy_att
  implicit none
  public
end module pio_nf

module piolib_mod
  use pio_systems
  use pio_nf, only: pio_set_fill
  implicit none
  public
end module piolib_mod

module piodarray
  use pio_nf, only: pio_read_darray, pio_write_darray
  use pio_systems, only: pio_set_buffer_size_limit
  implicit none
  public
end module piodarray

module pionfatt_mod
  use pio_nf, only: put_att => pio_put_att, get_att => pio_get_att, inq_var_fill => pio_inq_var_fill
  implicit none
  public
end module pionfatt_mod

module pionfput_mod
  use pio_nf, only: put_var => pio_put_var
  implicit none
  public
end module pionfput_mod

module pionfget_mod
  use pio_nf, only: get_var => pio_get_var
  implicit none
  public
end module pionfget_mod

module pio
  use, intrinsic :: iso_c_binding
  use pio_kinds, only: pio_offset_kind
  use pio_types
  use pio_systems
  use pio_nf
  use ncint_mod
  implicit none
  public
end module pio
