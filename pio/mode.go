package pio

import (
	"cmp"

	"blobio/cdf5"
)

// mode is the state of a file that determines the permitted calls.
type mode struct {
	path   string
	open   bool
	write  bool
	auto   bool         // definitions need no Redef, and a data call ends define mode
	define bool         // by Create or Redef
	began  bool         // with auto: by a definition in data mode; Redef is still possible
	format cdf5.Version // of the ordinary file to make; 0: CDF-5
}

// typed returns an error unless the file can have variables and attributes of type t.
func (m *mode) typed(what, name string, t cdf5.Type) error {
	if format := cmp.Or(m.format, cdf5.CDF5); !t.ValidIn(format) {
		return failed(EBADTYPE, "%s: %s %q has type %v (%d), want 1..11 for CDF-5 or 1..6 for CDF-1 and CDF-2; the file is CDF-%d", m.path, what, name, t, t, format)
	}
	return nil
}

// Path returns the name passed to Create or Open.
func (m *mode) Path() string { return m.path }

// Redef enters define mode. It is not collective, but all ranks must call it.
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

// EndDef enters data mode. It is not collective, but all ranks must call it.
func (m *mode) EndDef() error {
	if err := m.usable(); err != nil {
		return err
	}
	if !m.define && !m.began { // checked before writable, as in netCDF
		return failed(ENOTINDEFINE, "%s: enddef", m.path)
	}
	if err := m.writable(); err != nil {
		return err
	}
	m.define, m.began = false, false
	return nil
}

// usable returns EBADID unless the file is open.
func (m *mode) usable() error {
	if m == nil || !m.open {
		return failed(EBADID, "the file is not open")
	}
	return nil
}

// writable returns an error unless the file is open for writing.
func (m *mode) writable() error {
	if err := m.usable(); err != nil {
		return err
	}
	if !m.write {
		return failed(EPERM, "%s", m.path)
	}
	return nil
}

// definable returns an error unless definitions may change. With auto a definition begins define mode.
func (m *mode) definable() error {
	if err := m.usable(); err != nil {
		return err
	}
	if !m.define && !m.auto { // checked before writable, as in netCDF
		return failed(ENOTINDEFINE, "%s: definition in data mode; call redef first", m.path)
	}
	if err := m.writable(); err != nil {
		return err
	}
	m.began = m.auto
	return nil
}

// dataMode returns an error unless data may be read or, with write, written. Both need complete definitions.
func (m *mode) dataMode(write bool) error {
	if err := m.usable(); err != nil {
		return err
	}
	if write && !m.write {
		return failed(EPERM, "%s", m.path)
	}
	if m.define && !m.auto {
		return failed(EINDEFINE, "%s: data in define mode; call enddef first", m.path)
	}
	m.define, m.began = false, false
	return nil
}
