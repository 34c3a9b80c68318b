package redset

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"

	"blobio/comm"
	"blobio/internal/vfs"
)

// address is a store as other processes of the node find it: the files themselves, which all of them see. Its
// worker then reads and writes them as if they were its own, and no byte has to travel.
type address struct {
	In, Out           []place
	Pay, PayOut       *vfs.Outside
	PayOff, PayOutOff int64
}

// place is one file of a logical file. Without a name it is lost, or not to be touched.
type place struct {
	vfs.Outside
	Size int64
}

// address returns the address of a store; nil if its files have to be asked for.
func (s *store) address() *address {
	all := true
	find := func(name string) (o vfs.Outside) {
		if name == "" {
			return o
		}
		o, ok := vfs.OutsideOf(s.in.fs, name)
		if ok {
			return o
		}
		if _, err := s.in.fs.Stat(name); !errors.Is(err, fs.ErrNotExist) {
			all = false
		}
		return vfs.Outside{}
	}
	a := &address{PayOff: s.payOff, PayOutOff: s.payOutOff}
	for _, p := range s.in.parts {
		a.In = append(a.In, place{find(p.name), p.size})
	}
	if s.out != nil {
		for _, p := range s.out.parts {
			a.Out = append(a.Out, place{find(p.name), p.size})
		}
	}
	if s.pay != nil {
		o := find(s.pay.Name())
		a.Pay = &o
	}
	if s.payOut != nil {
		o := find(s.payOut.Name())
		a.PayOut = &o
	}
	if !all {
		return nil
	}
	return a
}

// store opens what an address tells, for close. Each file is tried: one that another user, another root of the file system or a
// name that does not travel hides from this process is not lost, it has to be asked for.
func (a *address) store() (*store, error) {
	logical := func(places []place, write bool) *logical {
		l := newLogical(vfs.OS, write)
		l.outside = map[string]vfs.Outside{}
		for _, p := range places {
			if l.add(p.Name, p.Size); p.Name != "" {
				l.outside[p.Name] = p.Outside
			}
		}
		return l
	}
	s := &store{in: logical(a.In, false), payOff: a.PayOff, payOutOff: a.PayOutOff}
	if a.Out != nil {
		s.out = logical(a.Out, true)
	}
	err := s.in.try()
	if err == nil && s.out != nil {
		err = s.out.try()
	}
	if a.Pay != nil && err == nil {
		s.pay, err = a.Pay.Open(false)
	}
	if a.PayOut != nil && err == nil {
		var f vfs.File
		if f, err = a.PayOut.Open(true); err == nil {
			s.payOut = &output{File: f}
		}
	}
	if err != nil {
		_ = s.close()
		return nil, err
	}
	return s, nil
}

// nearby returns the stores of all members if they are processes of one node that see each other's files, else nil, on
// all of them. It is a collective. Those of the others are for close.
func nearby(ctx context.Context, sc comm.Comm, own *store) ([]*store, error) {
	if m, err := comm.SharedMemory(ctx, sc, 1); m == nil || err != nil {
		return nil, err // they are on several nodes
	}
	b, err := json.Marshal(own.address())
	if err != nil {
		return nil, err
	}
	all, err := sc.Allgather(ctx, b)
	if err != nil {
		return nil, err
	}
	stores, good := make([]*store, len(all)), int64(1)
	for m, b := range all {
		if m == sc.Rank() {
			stores[m] = own
		}
		var a *address
		if json.Unmarshal(b, &a) != nil || a == nil {
			good = 0
		} else if m != sc.Rank() {
			if stores[m], err = a.store(); err != nil {
				good = 0
			}
		}
	}
	v, err := sc.AllreduceInt64(ctx, []int64{good}, comm.Min)
	if err == nil && v[0] == 1 {
		return stores, nil
	}
	_ = closeOthers(stores, own)
	return nil, err
}

// closeOthers ends the use of the stores of other processes.
func closeOthers(stores []*store, own *store) error {
	var errs []error
	for _, s := range stores {
		if s != nil && s != own {
			errs = append(errs, s.close())
		}
	}
	return errors.Join(errs...)
}
