package cli

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"
)

// helpWidth is the line width of help texts.
const helpWidth = 88

var marshaler = reflect.TypeFor[json.Marshaler]()

// Shape returns the JSON structure of a value for help texts: {path, files: [{name, bytes}]}.
func Shape(v any) string { return shapeOf(reflect.ValueOf(v)) }

// shapeOf returns "" for a value without parts or with its own JSON marshaler.
func shapeOf(v reflect.Value) string {
	if !v.IsValid() || v.Type().Implements(marshaler) || reflect.PointerTo(v.Type()).Implements(marshaler) {
		return ""
	}
	switch v.Kind() {
	case reflect.Pointer:
		return shapeOf(reflect.New(v.Type().Elem()).Elem())
	case reflect.Interface:
		return shapeOf(v.Elem())
	case reflect.Slice, reflect.Array:
		one := reflect.New(v.Type().Elem()).Elem()
		if v.Len() > 0 {
			one = v.Index(0)
		}
		in := shapeOf(one)
		if in == "" {
			in = "..."
		}
		return "[" + in + "]"
	case reflect.Map:
		var parts []string
		for _, k := range v.MapKeys() {
			parts = append(parts, part(k.String(), v.MapIndex(k)))
		}
		slices.Sort(parts)
		return "{" + strings.Join(parts, ", ") + "}"
	case reflect.Struct:
		return "{" + strings.Join(fieldsOf(v), ", ") + "}"
	}
	return ""
}

// fieldsOf returns the fields of a struct, including fields of embedded structs.
func fieldsOf(v reflect.Value) (parts []string) {
	for i := range v.NumField() {
		f := v.Type().Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case f.Anonymous && name == "" && f.Type.Kind() == reflect.Struct:
			parts = append(parts, fieldsOf(v.Field(i))...)
		case name != "" && name != "-":
			parts = append(parts, part(name, v.Field(i)))
		}
	}
	return parts
}

// part returns a name with the structure of its value.
func part(name string, v reflect.Value) string {
	if in := shapeOf(v); in != "" {
		return name + ": " + in
	}
	return name
}

// Wrapped breaks a text into lines at blanks.
func Wrapped(text string) (lines []string) {
	line := ""
	for _, word := range strings.Fields(text) {
		if line != "" && utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > helpWidth {
			lines, line = append(lines, line), ""
		}
		line = strings.TrimSpace(line + " " + word)
	}
	if line != "" {
		lines = append(lines, line)
	}
	return lines
}
