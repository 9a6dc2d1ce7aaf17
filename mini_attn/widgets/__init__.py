"""The living pictures: views of what the package computes, never a second model."""
