package pio

import (
	"cmp"

	"blobio/cdf5"
)

// mode is the state of a file that decides which calls it allows.
type mode struct {
	path   string
	open   bool
	write  bool
	auto   bool // definitions need no Redef, and a call on data ends define mode
	define bool
	format cdf5.Version // of the ordinary file that is made; 0: CDF-5
}

// typed is an error unless the file can have variables and attributes of a type.
func (m *mode) typed(what, name string, t cdf5.Type) error {
	if format := cmp.Or(m.format, cdf5.CDF5); !t.ValidIn(format) {
		return failed(EBADTYPE, "%s: %s %q of type %v (%d), want 1..11 of CDF-5, 1..6 of CDF-1 and CDF-2; the file is CDF-%d", m.path, what, name, t, t, format)
	}
	return nil
}

// Path returns the name that the file was created or opened with.
func (m *mode) Path() string { return m.path }

// Redef goes to define mode. Not collective, but the same on all ranks.
func (m *mode) Redef() error {
	if err := m.writable(); err != nil {
		return err
	}
	if m.define {
		return failed(EINDEFINE, "%s: redef", m.path)
	}
	m.define = true
	return nil
}

// EndDef goes to data mode. Not collective, but the same on all ranks.
func (m *mode) EndDef() error {
	if err := m.usable(); err != nil {
		return err
	}
	if !m.define && !m.auto { // also of a file for reading, as in netCDF
		return failed(ENOTINDEFINE, "%s: enddef", m.path)
	}
	if err := m.writable(); err != nil {
		return err
	}
	m.define = false
	return nil
}

// usable is EBADID unless the file is open.
func (m *mode) usable() error {
	if m == nil || !m.open {
		return failed(EBADID, "the file is not open")
	}
	return nil
}

// writable is an error unless the file is open for writing.
func (m *mode) writable() error {
	if err := m.usable(); err != nil {
		return err
	}
	if !m.write {
		return failed(EPERM, "%s", m.path)
	}
	return nil
}

// definable is an error unless definitions may change.
func (m *mode) definable() error {
	if err := m.writable(); err != nil {
		return err
	}
	if !m.define && !m.auto {
		return failed(ENOTINDEFINE, "%s: a definition, want redef before", m.path)
	}
	return nil
}

// dataMode is an error unless data may be read, or with write written. Both need complete definitions.
func (m *mode) dataMode(write bool) error {
	if err := m.usable(); err != nil {
		return err
	}
	if write && !m.write {
		return failed(EPERM, "%s", m.path)
	}
	if m.define && !m.auto {
		return failed(EINDEFINE, "%s: data, want enddef before", m.path)
	}
	m.define = false
	return nil
}
