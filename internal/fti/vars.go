package fti

import (
	"blobio/ffformat"
	"blobio/internal/base/fault"
)

// variable is memory that the program protects.
type variable struct {
	id   int32
	data []byte
	size int64 // in bytes; data is empty if its address is NULL
}

// variables are the protected variables of a rank.
type variables struct {
	list []*variable // in the order of their first protection
	byID map[int32]*variable
}

func (v *variables) get(id int32) *variable { return v.byID[id] }

// add adds an empty variable.
func (v *variables) add(id int32) *variable {
	if v.byID == nil {
		v.byID = map[int32]*variable{}
	}
	x := &variable{id: id, data: []byte{}}
	v.list, v.byID[id] = append(v.list, x), x
	return x
}

// bufs returns the buffers of the variables for reading and writing.
func (v *variables) bufs() ([]ffformat.VarBuf, error) {
	var list []ffformat.VarBuf
	for _, x := range v.list {
		if err := x.check(); err != nil {
			return nil, err
		}
		list = append(list, ffformat.VarBuf{ID: x.id, Data: x.data})
	}
	return list, nil
}

func (x *variable) check() error {
	if int64(len(x.data)) != x.size {
		return fault.Usage("variable %d: its address is NULL, but it has %d bytes", x.id, x.size)
	}
	return nil
}

// Protect registers size bytes of memory as a variable. A second call for the same id replaces the memory. data is nil for memory
// that does not exist yet. The memory must not change during Checkpoint, Add, Recover and ReadVar.
func (s *Session) Protect(id int64, data []byte, size int64) error {
	switch {
	case id < 0 || id > s.cfg.MaxVarID:
		return fault.Usage("variable %d, want 0 to %d (max_var_id of the configuration)", id, s.cfg.MaxVarID)
	case size < 0:
		return fault.Usage("variable %d: %d bytes, want 0 or more", id, size)
	case data != nil && int64(len(data)) != size:
		return fault.Usage("variable %d: %d bytes of memory, want %d", id, len(data), size)
	}
	x := s.vars.get(int32(id))
	if x == nil {
		x = s.vars.add(int32(id))
	}
	x.data, x.size = data, size
	return nil
}

// StoredSize returns the number of bytes of a variable in the last checkpoint, or in the checkpoint of the restart. It returns
// 0 if that checkpoint does not have the variable.
func (s *Session) StoredSize(id int32) int64 { return s.last.sizes[id] }
