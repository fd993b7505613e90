"""What is quoted in pages that another collection keeps."""
