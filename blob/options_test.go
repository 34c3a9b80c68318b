package blob

import (
	"reflect"
	"slices"
	"testing"
)

// TestOptionsHash: ranks that pass options with another value of any field, or of any field of theirs, are told so, but for those of a
// process alone. A field that is new is compared without being named anywhere.
func TestOptionsHash(t *testing.T) {
	own := []string{"Memory", "Workers", "MaxOpen"}
	var base Options
	was := base.hash("a")
	if base.hash("b") == was {
		t.Error("another name has the same hash")
	}
	seen := 0
	var vary func(path string, o *Options, v reflect.Value)
	vary = func(path string, o *Options, v reflect.Value) {
		switch v.Kind() {
		case reflect.Struct:
			for i := range v.NumField() {
				vary(path+"."+v.Type().Field(i).Name, o, v.Field(i))
			}
			return
		case reflect.Bool:
			v.SetBool(true)
		case reflect.Int, reflect.Int64:
			v.SetInt(1)
		case reflect.Uint8:
			v.SetUint(1)
		default:
			t.Errorf("%s is a %v: two that are alike may not print alike, so hash must say how it is compared", path, v.Kind())
			return
		}
		seen++
		if o.hash("a") == was {
			t.Errorf("options with %s = %v have the hash of those without", path, v)
		}
		v.SetZero()
	}
	for i := range reflect.TypeFor[Options]().NumField() {
		name := reflect.TypeFor[Options]().Field(i).Name
		if k := slices.Index(own, name); k >= 0 {
			own = slices.Delete(own, k, k+1)
			continue
		}
		o := base
		vary(name, &o, reflect.ValueOf(&o).Elem().Field(i))
	}
	if len(own) > 0 || seen < 15 {
		t.Errorf("%d fields are compared; of a process alone, but not there: %v", seen, own)
	}
	o := Options{Memory: 1, Workers: 1, MaxOpen: 1}
	if o.hash("a") != was {
		t.Error("options that are each process's own are compared")
	}
}
