"""Static files in production: our modules in bundles, everything compressed, under names that change with the content."""
