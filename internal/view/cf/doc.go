// Package cf applies the CF conventions to the variables of a dataset: which are coordinates of which, which are times, and which elements
// a range of coordinate values selects.
package cf
