// Package cf applies the CF conventions to the variables of a dataset: coordinates, times, and the elements that
// a range of coordinate values selects.
package cf
